package org.kverbs.management.simulation

/** Where the fields of a datagram are that the simulator reads and writes. */
internal object Mads {
    const val BY_LID = 0x01
    const val PERFORMANCE = 0x04
    const val ADMINISTRATION = 0x03
    const val DIRECTED = 0x81
    const val GET = 0x01
    const val SET = 0x02
    const val TRAP = 0x05
    const val TRAP_REPRESS = 0x07
    const val DATA = 64
    const val DATA_SIZE = 64
    const val PERMISSIVE = 0xffff

    /** Statuses that all classes share. */
    const val BUSY = 1
    const val VERSION_UNSUPPORTED = 1 shl 2
    const val METHOD_UNSUPPORTED = 2 shl 2
    const val ATTRIBUTE_UNSUPPORTED = 3 shl 2
    const val INVALID_FIELD = 7 shl 2

    private const val RESPONSE = 0x80
    private const val BASE_VERSION_AT = 0
    private const val CLASS_AT = 1
    private const val CLASS_VERSION_AT = 2
    private const val METHOD_AT = 3
    private const val STATUS_AT = 4
    private const val HOP_POINTER_AT = 6
    private const val HOP_COUNT_AT = 7
    private const val TRANSACTION_AT = 8
    private const val ATTRIBUTE_AT = 16
    private const val MODIFIER_AT = 20
    private const val M_KEY_AT = 24
    private const val SOURCE_LID_AT = 32
    private const val DESTINATION_LID_AT = 34
    private const val INITIAL_PATH_AT = 128
    private const val RETURN_PATH_AT = 192
    private const val DIRECTION = 0x8000

    fun baseVersion(mad: ByteArray) = Wire.u8(mad, BASE_VERSION_AT)

    fun mgmtClass(mad: ByteArray) = Wire.u8(mad, CLASS_AT)

    fun setClass(
        mad: ByteArray,
        value: Int,
    ) = Wire.put8(mad, CLASS_AT, value)

    fun classVersion(mad: ByteArray) = Wire.u8(mad, CLASS_VERSION_AT)

    fun method(mad: ByteArray) = Wire.u8(mad, METHOD_AT)

    fun isDirected(mad: ByteArray) = mgmtClass(mad) == DIRECTED

    fun isSubnetManagement(mad: ByteArray) = mgmtClass(mad) == DIRECTED || mgmtClass(mad) == BY_LID

    fun isResponse(mad: ByteArray) = method(mad) and RESPONSE != 0 || method(mad) == TRAP_REPRESS

    fun attribute(mad: ByteArray) = Wire.u16(mad, ATTRIBUTE_AT)

    fun setAttribute(
        mad: ByteArray,
        value: Int,
    ) = Wire.put16(mad, ATTRIBUTE_AT, value)

    fun modifier(mad: ByteArray) = Wire.u32(mad, MODIFIER_AT)

    fun setModifier(
        mad: ByteArray,
        value: Int,
    ) = Wire.put32(mad, MODIFIER_AT, value)

    fun mKey(mad: ByteArray) = Wire.u64(mad, M_KEY_AT)

    /** The highest 16 bits of the transaction id: they lead an answer back to the transport that asked. */
    fun owner(mad: ByteArray) = Wire.u16(mad, TRANSACTION_AT)

    fun setOwner(
        mad: ByteArray,
        value: Int,
    ) = Wire.put16(mad, TRANSACTION_AT, value)

    fun transaction(mad: ByteArray) = Wire.u32(mad, TRANSACTION_AT + Int.SIZE_BYTES)

    fun setTransaction(
        mad: ByteArray,
        value: Int,
    ) = Wire.put32(mad, TRANSACTION_AT + Int.SIZE_BYTES, value)

    fun hopPointer(mad: ByteArray) = Wire.u8(mad, HOP_POINTER_AT)

    fun hopCount(mad: ByteArray) = Wire.u8(mad, HOP_COUNT_AT)

    fun goesBack(mad: ByteArray) = Wire.u16(mad, STATUS_AT) and DIRECTION != 0

    fun sourceLid(mad: ByteArray) = Wire.u16(mad, SOURCE_LID_AT)

    fun destinationLid(mad: ByteArray) = Wire.u16(mad, DESTINATION_LID_AT)

    fun initialPath(
        mad: ByteArray,
        hop: Int,
    ) = Wire.u8(mad, INITIAL_PATH_AT + hop)

    fun returnPath(
        mad: ByteArray,
        hop: Int,
    ) = Wire.u8(mad, RETURN_PATH_AT + hop)

    fun setReturnPath(
        mad: ByteArray,
        hop: Int,
        port: Int,
    ) = Wire.put8(mad, RETURN_PATH_AT + hop, port)

    /** Makes a trap the answer that ends its repetition. */
    fun repress(mad: ByteArray) = Wire.put8(mad, METHOD_AT, TRAP_REPRESS)

    /** Makes a request the answer to itself. Of a directed route, the top bit of the status is the direction. */
    fun answer(
        mad: ByteArray,
        status: Int,
    ) {
        val method = method(mad)
        Wire.put8(mad, METHOD_AT, RESPONSE or if (method == SET) GET else method)
        Wire.put16(mad, STATUS_AT, if (isDirected(mad)) DIRECTION or status else status)
    }
}
