package org.kverbs.management.simulation

import java.nio.ByteBuffer

/**
 * A control datagram of ibsim's protocol, and the answers to it. All numbers are in the machine's order: a magic
 * number, the program's number, the type, the length of the data, and 64 bytes of data.
 */
internal class IbsimQuestion(
    private val buffer: ByteBuffer,
) {
    val isValid: Boolean get() = buffer.getInt(0) == MAGIC
    val client: Int get() = buffer.getInt(CLIENT_AT)
    val type: Int get() = buffer.getInt(TYPE_AT)

    /** Of the type [CONNECT], the UDP port of the program's data. */
    val dataPort: Int get() = buffer.getInt(DATA_AT) and 0xffff

    /** Of the type [CONNECT], the node that the program wants; empty for any. */
    val node: String get() = text(DATA_AT + NODE_AT, NODE_SIZE)

    /** Of the type [GET_PORT_INFO], the number of the port. */
    val selected: Int get() = buffer.get(DATA_AT).toInt() and 0xff

    /** The first number of the data. */
    val number: Int get() = buffer.getInt(DATA_AT)

    private fun text(
        at: Int,
        size: Int,
    ): String {
        val bytes = ByteArray(size)
        buffer.get(at, bytes)
        return bytes.decodeToString().substringBefore('\u0000')
    }

    fun refused(): ByteBuffer = buffer.putInt(TYPE_AT, ERROR).rewind()

    /** The answer with other data, or with those of the question. */
    fun answered(data: ByteArray? = null): ByteBuffer {
        if (data != null) buffer.put(DATA_AT, data.copyOf(DATA_SIZE))
        return buffer.rewind()
    }

    fun connected(
        id: Int,
        node: String,
    ): ByteBuffer {
        val name = node.encodeToByteArray().copyOf(NODE_SIZE).also { it[NODE_SIZE - 1] = 0 }
        return buffer.putInt(DATA_AT, id).put(DATA_AT + NODE_AT, name).rewind()
    }

    companion object {
        const val SIZE = 80
        const val DATA_SIZE = 64
        const val ERROR = 0
        const val CONNECT = 1
        const val DISCONNECT = 2
        const val GET_PORT = 3
        const val GET_VENDOR = 4
        const val GET_GID = 5
        const val GET_GUID = 6
        const val GET_NODE_INFO = 7
        const val GET_PORT_INFO = 8
        const val SET_ISSM = 9
        const val GET_P_KEYS = 10
        private const val MAGIC = 0xdeadbeef.toInt()
        private const val CLIENT_AT = 4
        private const val TYPE_AT = 8
        private const val DATA_AT = 16
        private const val NODE_AT = 12
        private const val NODE_SIZE = 32
    }
}
