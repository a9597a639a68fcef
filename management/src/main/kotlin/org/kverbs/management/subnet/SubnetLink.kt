package org.kverbs.management.subnet

/**
 * A link between two ports of a [Subnet]. Two are equal if they have the same ends.
 *
 * @property a the end whose node has the lower GUID, or the port with the lower number
 * @property b the other end
 */
@ConsistentCopyVisibility
public data class SubnetLink private constructor(
    public val a: SubnetPort,
    public val b: SubnetPort,
) {
    /** What the link runs at, or null if neither end tells. */
    public val rate: LinkRate? get() = a.rate ?: b.rate

    /** The most that both ends can do, or null if that is not known. */
    public val possibleRate: LinkRate?
        get() {
            val widths = ends.map { it.info?.let(Rates::supportedWidths) ?: 0 }
            val lanes = Rates.lanes(widths[0] and widths[1])
            val speed = Rates.fastest(a.supportedSpeeds and b.supportedSpeeds)
            return if (lanes == 0 || speed == null) null else LinkRate(lanes, speed)
        }

    /** The most that both ends have enabled, which can be less than they can do, or null if that is not known. */
    public val enabledRate: LinkRate?
        get() {
            val widths = ends.map { it.info?.let(Rates::enabledWidths) ?: 0 }
            val lanes = Rates.lanes(widths[0] and widths[1])
            val speed = Rates.fastest(a.enabledSpeeds and b.enabledSpeeds)
            return if (lanes == 0 || speed == null) null else LinkRate(lanes, speed)
        }

    /** Whether the lanes run at a lower speed than both ends can do. */
    public val isSlowerThanPossible: Boolean
        get() = less(possibleRate) { rate, possible -> rate.speed < possible.speed }

    /** Whether the link runs over fewer lanes than both ends have. */
    public val isNarrowerThanPossible: Boolean
        get() = less(possibleRate) { rate, possible -> rate.lanes < possible.lanes }

    /** Whether the lanes run at a lower speed than both ends have enabled. */
    public val isSlowerThanEnabled: Boolean
        get() = less(enabledRate) { rate, enabled -> rate.speed < enabled.speed }

    /** Whether the link runs over fewer lanes than both ends have enabled. */
    public val isNarrowerThanEnabled: Boolean
        get() = less(enabledRate) { rate, enabled -> rate.lanes < enabled.lanes }

    /** Whether the two ends do not agree on width or speed, or on being connected with each other. */
    public val isAsymmetric: Boolean
        get() = b.peer != a || a.peer != b || ends.mapNotNull { it.rate }.distinct().size > 1

    /** Both ends. */
    public val ends: List<SubnetPort> get() = listOf(a, b)

    private inline fun less(
        most: LinkRate?,
        compare: (LinkRate, LinkRate) -> Boolean,
    ): Boolean = most != null && ends.any { end -> end.rate?.let { compare(it, most) } == true }

    /** Returns both ends and the rate in one line without control characters. */
    override fun toString(): String {
        val could = possibleRate?.takeIf { isSlowerThanPossible || isNarrowerThanPossible }
        return "$a - $b ${rate ?: "rate unknown"}" + (could?.let { ", could be $it" } ?: "")
    }

    internal companion object {
        fun of(
            one: SubnetPort,
            other: SubnetPort,
        ): SubnetLink = if (one.index <= other.index) SubnetLink(one, other) else SubnetLink(other, one)
    }
}
