package org.kverbs.management.simulation

/** The fields of PortInfo that tell width and speed of a link. */
internal object LinkFields {
    private const val WIDTH_ENABLED_AT = 29
    private const val WIDTH_SUPPORTED_AT = 30
    private const val WIDTH_ACTIVE_AT = 31
    private const val SPEED_SUPPORTED_AT = 32
    private const val SPEED_AT = 35
    private const val EXTENDED_AT = 62
    private const val EXTENDED_ENABLED_AT = 63
    private const val ALL_WIDTHS = 31
    private const val ALL_SPEEDS = 7
    private const val UP_TO_HDR = 7
    private const val UP_TO_NDR = 15

    fun write(
        image: ByteArray,
        at: Int,
        own: LinkRate,
        active: LinkRate,
    ) {
        Wire.put8(image, at + WIDTH_ENABLED_AT, own.width)
        Wire.put8(image, at + WIDTH_SUPPORTED_AT, ALL_WIDTHS)
        Wire.put8(image, at + WIDTH_ACTIVE_AT, active.width)
        Wire.put8(image, at + SPEED_SUPPORTED_AT, ALL_SPEEDS shl 4 or (Wire.u8(image, at + SPEED_SUPPORTED_AT) and 0xf))
        Wire.put8(image, at + SPEED_AT, active.speed shl 4 or own.speed)
        // A port without an extended speed says nothing of them, as ibsim's.
        val supported = if (own.extended > UP_TO_HDR) UP_TO_NDR else UP_TO_HDR
        val isExtended = active.extended != 0
        Wire.put8(image, at + EXTENDED_AT, if (isExtended) active.extended shl 4 or supported else 0)
        Wire.put8(image, at + EXTENDED_ENABLED_AT, if (isExtended) own.extended else 0)
    }
}
