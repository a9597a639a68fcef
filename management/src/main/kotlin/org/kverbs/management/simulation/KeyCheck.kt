package org.kverbs.management.simulation

/** Whether a request for a port may pass its management key: IBA 14.2.4. */
internal class KeyCheck(
    private val network: Network,
    port: Int,
    mad: ByteArray,
) {
    private val owner = network.endPort(port)
    private val key = network.mKey(owner)
    private val isRight = key == 0L || key == Mads.mKey(mad)
    private val protection = network.protection(owner)

    /** Whether the answer must not tell the key. */
    val hidesKey: Boolean get() = !isRight && protection != 0

    /** Counts a violation if not. */
    fun passes(method: Int): Boolean {
        val passes = isRight || (method == Mads.GET && protection < GET_IS_PROTECTED)
        if (!passes) network.countKeyViolation(owner)
        return passes
    }

    private companion object {
        const val GET_IS_PROTECTED = 2
    }
}
