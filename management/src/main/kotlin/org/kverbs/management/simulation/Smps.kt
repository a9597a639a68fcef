package org.kverbs.management.simulation

/** The attributes of subnet management that the simulation knows, by their numbers. */
internal object Smps {
    const val NODE_DESCRIPTION = 0x10
    const val NODE_INFO = 0x11
    const val SWITCH_INFO = 0x12
    const val GUID_INFO = 0x14
    const val PORT_INFO = 0x15
    const val P_KEY_TABLE = 0x16
    const val SL_TO_VL = 0x17
    const val VL_ARBITRATION = 0x18
    const val LINEAR_FORWARDING = 0x19
    const val MULTICAST_FORWARDING = 0x1b
    const val SM_INFO = 0x20
    const val VENDOR_PORT_INFO = 0xff90
}
