package org.kverbs.acceptance.lab

import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.transport.ServedClass
import java.nio.ByteBuffer

private const val VENDOR_CLASS = 0x3a
private const val VENDOR_OUI = 0x001405
private const val MAD_GET = 1
private const val MAD_GET_MULTI = 0x14

/** Where a vendor's data begin: behind the header, the RMPP header and the OUI. */
internal const val VENDOR_DATA = 40
private const val MAD_SIZE = 256

/** The requests of the vendor whose class the specs use. */
internal val vendorClass = ServedClass(ManagementClass.of(VENDOR_CLASS), VENDOR_OUI)

/**
 * A request of the vendor's class with [size] bytes in all, which RMPP carries if that is more than a datagram. Its
 * modifier says how many bytes the answer is to have behind the header.
 */
internal fun vendorRequest(
    size: Int,
    answer: Int,
    method: Int = MAD_GET,
): ByteArray {
    val buffer = ByteBuffer.allocate(size)
    buffer.put(0, 1).put(1, VENDOR_CLASS.toByte()).put(2, 1).put(3, method.toByte())
    buffer.putShort(16, 0x77).putInt(20, answer)
    if (size > MAD_SIZE) buffer.put(24, 1).put(25, 1).put(26, 1) // RMPP version 1, DATA, ACTIVE
    buffer.putInt(36, VENDOR_OUI)
    return buffer.array().also { vendorBytes(size - VENDOR_DATA, 1).copyInto(it, VENDOR_DATA) }
}

/** The method of a request with [size] bytes whose answer is as long. The kernel wants another one if both are long. */
internal fun bothWays(size: Int): Int = if (size > MAD_SIZE) MAD_GET_MULTI else MAD_GET

/** Bytes that tell which ones they are. */
internal fun vendorBytes(
    size: Int,
    seed: Int,
): ByteArray = ByteArray(size) { (it * 31 + (it shr 8) * 7 + seed).toByte() }
