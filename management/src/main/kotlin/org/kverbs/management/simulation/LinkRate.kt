package org.kverbs.management.simulation

private const val BYTE = 0xff

/** Which widths and speeds a port has enabled, in one number. */
@JvmInline
internal value class LinkRate(
    val bits: Int,
) {
    constructor(width: Int, speed: Int, extended: Int, fdr10: Int) :
        this(width or (speed shl 8) or (extended shl 16) or (fdr10 shl 24))

    val width: Int get() = bits and BYTE
    val speed: Int get() = bits shr 8 and BYTE
    val extended: Int get() = bits shr 16 and BYTE
    val fdr10: Int get() = bits ushr 24

    fun withWidth(width: Int) = LinkRate(width, speed, extended, fdr10)

    fun withSpeed(speed: Int) = LinkRate(width, speed, extended, fdr10)

    fun withExtended(extended: Int) = LinkRate(width, speed, extended, fdr10)

    fun withSpeed(speed: SimulatedSpeed) = LinkRate(width, speed.enabled, speed.extended, if (speed.hasFdr10) 1 else 0)

    /** What a link between two ports runs at: of each kind the best that both have. */
    infix fun with(other: LinkRate) =
        LinkRate(
            best(width and other.width),
            Integer.highestOneBit(speed and other.speed),
            Integer.highestOneBit(extended and other.extended),
            fdr10 and other.fdr10,
        )

    companion object {
        private const val W1X = 1
        private const val W2X = 16

        /** The rate of a port of which nothing is said: 4X at single speed. */
        val DEFAULT = LinkRate(2, 1, 0, 0)

        /** 2X is the highest bit, but among the slowest widths. */
        private fun best(widths: Int): Int {
            val wide = Integer.highestOneBit(widths and W2X.inv() and W1X.inv())
            return if (wide != 0) wide else Integer.highestOneBit(widths)
        }

        /** The widths that a port of a net file has enabled where the file says `4x`. */
        fun widthsOf(lanes: Int): Int? =
            when (lanes) {
                1 -> 1
                2 -> 16
                4 -> 3
                8 -> 4
                12 -> 11
                else -> null
            }
    }
}
