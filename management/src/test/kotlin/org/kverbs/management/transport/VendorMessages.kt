package org.kverbs.management.transport

import org.kverbs.management.structures.ManagementClass
import java.nio.ByteBuffer

/** A class of vendors that has long messages. */
internal val VENDOR = ManagementClass.of(0x3a)

internal const val GET = 1
internal const val GET_MULTI = 0x14

/** Where a vendor's data begin: behind the header, the RMPP header and the OUI. */
internal const val VENDOR_DATA = 40
private const val OUI = 0x001405

/** A request of the vendor's class with [size] bytes in all; RMPP carries more than 256. */
internal fun vendorRequest(
    size: Int = MAD_SIZE,
    method: Int = GET,
    modifier: Int = 0,
): ByteArray {
    val buffer = ByteBuffer.allocate(size)
    buffer.put(0, 1).put(1, VENDOR.value.toByte()).put(2, 1).put(3, method.toByte())
    buffer.putShort(16, 0x77).putInt(20, modifier)
    if (size > MAD_SIZE) buffer.put(24, 1).put(26, 1) // RMPP version 1, ACTIVE
    buffer.putInt(36, OUI)
    return buffer.array().also { vendorData(size - VENDOR_DATA, method).copyInto(it, VENDOR_DATA) }
}

/** Bytes that tell which ones they are. */
internal fun vendorData(
    size: Int,
    seed: Int,
): ByteArray = ByteArray(size) { (it * 31 + (it shr 8) * 7 + seed).toByte() }

/** The data of a vendor's message. */
internal fun ByteArray.vendorData(): ByteArray = copyOfRange(VENDOR_DATA, size)
