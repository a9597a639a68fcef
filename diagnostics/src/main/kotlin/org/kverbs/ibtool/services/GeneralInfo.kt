package org.kverbs.ibtool.services

import org.kverbs.ibtool.session.printable
import org.kverbs.ibtool.session.with
import org.kverbs.management.structures.MlxGeneralInfo
import org.kverbs.management.structures.MlxGeneralInfoExtended

/** What a device of Mellanox says of itself, in the lines of `vendstat -N`. */
internal class GeneralInfo(
    private val extended: MlxGeneralInfoExtended,
) {
    private val plain = MlxGeneralInfo.of(extended.bytes().copyOf(MlxGeneralInfo.byteSize))
    private val isExtended get() = devices.any { deviceId in it }

    val deviceId: Int get() = plain.deviceID

    private val firmware: String
        get() =
            if (isExtended) {
                VERSION.with(extended.fwExtMajor, extended.fwExtMinor, extended.fwExtSubMinor)
            } else {
                VERSION.with(plain.fwMajor, plain.fwMinor, plain.fwSubMinor)
            }

    private val software: String
        get() =
            if (isExtended) {
                VERSION.with(extended.swMajor, extended.swMinor, extended.swSubMinor)
            } else {
                VERSION.with(plain.swMajor, plain.swMinor, plain.swSubMinor)
            }

    /** The names and values. */
    val rows: Map<String, String>
        get() =
            mapOf(
                "hw_dev_rev" to "0x%04x".with(plain.hwRevision),
                "hw_dev_id" to "0x%04x".with(plain.deviceID),
                "hw_uptime" to "0x%08x".with(plain.uptime),
                "fw_version" to firmware,
                "fw_build_id" to "0x%04x".with(plain.fwBuildID),
                "fw_date" to "%02x/%02x/%04x".with(plain.fwMonth, plain.fwDay, plain.fwYear),
                "fw_psid" to printable(plain.fwPSID),
                "fw_ini_ver" to "${plain.fwINIFileVersion}",
                "sw_version" to software,
            )

    override fun toString(): String =
        rows.entries.joinToString("\n") { (name, value) ->
            "$name:".padEnd(COLUMN) + if (name == "fw_psid") "'$value'" else value
        }

    private companion object {
        private const val VERSION = "%02d.%02d.%02d"
        private const val COLUMN = 13

        /** The devices whose firmware has version numbers of 32 bits. */
        private val devices =
            listOf(0x0245..0x0245, 0xc738..0xc73b, 0xcb20..0xcb20, 0xcf08..0xcf08, 0xd2f0..0xd2f0, 0x01b3..0x01b3) +
                listOf(0x1003..0x101b, 0xa2d2..0xa2d2, 0x1b02..0x1b02, 0x1b50..0x1b50, 0x1ba0..0x1ba0) +
                listOf(0x1bd0..0x1bd5, 0x1bf0..0x1bf0, 0x1b33..0x1b33, 0x1b73..0x1b73, 0x1b40..0x1b41) +
                listOf(0x1b60..0x1b61, 0x1b83..0x1b83, 0x1b93..0x1b94, 0x1bb4..0x1bb5, 0x1bc4..0x1bc6)
    }
}
