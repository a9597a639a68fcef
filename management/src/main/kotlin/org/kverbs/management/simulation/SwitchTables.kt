package org.kverbs.management.simulation

/** What one switch has been told: its forwarding tables and the fields of SwitchInfo that can be set. */
internal class SwitchTables(
    private val ports: Int,
    var hasStateChange: Boolean,
) {
    private var linear = ByteArray(0)
    private val multicast = HashMap<Int, ByteArray>()
    var linearTop = 0
    var lifeTime = 0

    /** How many blocks of 16 ports a multicast mask has. Port 0 is one of them. */
    private val positions = ports / MASK + 1

    /** The port that leads to a LID, or [NO_PORT]. */
    fun outputPort(lid: Int): Int = if (lid > linearTop || lid >= linear.size) NO_PORT else Wire.u8(linear, lid)

    fun linearBlock(
        block: Int,
        into: ByteArray,
        offset: Int,
    ) {
        into.fill(NO_PORT.toByte(), offset, offset + BLOCK)
        val from = block * BLOCK
        if (from < linear.size) linear.copyInto(into, offset, from, from + BLOCK)
    }

    fun setLinearBlock(
        block: Int,
        from: ByteArray,
        offset: Int,
    ) {
        val end = (block + 1) * BLOCK
        if (linear.size < end) {
            val old = linear.size
            linear = linear.copyOf(end)
            linear.fill(NO_PORT.toByte(), old, end)
        }
        from.copyInto(linear, end - BLOCK, offset, offset + BLOCK)
    }

    /** Takes a whole table, up to the highest LID. */
    fun setLinear(
        table: ByteArray,
        top: Int,
    ) {
        linear = table
        linearTop = top
    }

    fun hasMulticast(
        block: Int,
        position: Int,
    ): Boolean = block < MULTICAST_BLOCKS && position < positions

    /** The blocks that were written, each as block * 16 + position. */
    fun multicastBlocks(): List<Int> = multicast.keys.sorted()

    fun multicastBlock(
        block: Int,
        position: Int,
        into: ByteArray,
        offset: Int,
    ) {
        val known = multicast[block * MASK + position]
        if (known == null) into.fill(0, offset, offset + BLOCK) else known.copyInto(into, offset)
    }

    fun setMulticastBlock(
        block: Int,
        position: Int,
        from: ByteArray,
        offset: Int,
    ) {
        multicast[block * MASK + position] = from.copyOfRange(offset, offset + BLOCK)
    }

    companion object {
        const val NO_PORT = 0xff
        const val BLOCK = 64
        const val LINEAR_CAPACITY = 0xc000
        const val MULTICAST_CAPACITY = 1024
        private const val MULTICAST_BLOCKS = MULTICAST_CAPACITY / 32
        private const val MASK = 16
    }
}
