package org.kverbs.management.subnet

import java.io.DataInputStream
import java.io.DataOutputStream
import java.io.EOFException
import java.io.IOException
import java.io.InputStream
import java.io.OutputStream
import java.nio.file.Files
import java.nio.file.Path
import java.nio.file.StandardCopyOption.REPLACE_EXISTING
import java.nio.file.StandardOpenOption.CREATE_NEW
import java.nio.file.StandardOpenOption.WRITE
import java.util.zip.CRC32C
import java.util.zip.DeflaterOutputStream
import java.util.zip.Inflater
import java.util.zip.InflaterInputStream
import java.util.zip.ZipException
import kotlin.random.Random

/** `KVSUBNET`. */
private const val MAGIC = 0x4b565355424e4554L
private const val VERSION = 1

/** The most bytes that a saved subnet has before compression, without another choice; 65,000 hosts have about 50 MB. */
public const val DEFAULT_MAX_SUBNET_BYTES: Int = 256 * 1024 * 1024

/**
 * Writes the subnet to a stream: magic number, version, length and checksum, and then the compressed arrays. The
 * stream stays open.
 *
 * @throws IOException if the stream does
 */
public fun Subnet.writeTo(output: OutputStream) {
    val body = SubnetBody.bytes(data)
    DataOutputStream(output).apply {
        writeLong(MAGIC)
        writeInt(VERSION)
        writeInt(body.size)
        writeInt(checksum(body))
        flush()
    }
    DeflaterOutputStream(output).apply {
        write(body)
        finish()
    }
    output.flush()
}

/**
 * Saves the subnet to a file. A file that is there is replaced only when the new one is written, which gets its mode. A
 * link stays, and the file that it leads to is replaced; a device or a pipe is written to.
 *
 * @throws IOException if the file cannot be written, or is a folder
 */
public fun Subnet.save(file: Path) {
    if (!Files.isRegularFile(file) && (Files.exists(file) || Files.isSymbolicLink(file))) {
        // A move would put a file in the place of the device, of an empty folder, or of a link that leads nowhere yet.
        Files.newOutputStream(file).buffered().use { writeTo(it) }
        return
    }
    val target = if (Files.exists(file)) file.toRealPath() else file.toAbsolutePath()
    // No temporary file, which nobody else can read.
    val written = target.resolveSibling(".${target.fileName}.${Random.nextLong().toHexString()}.new")
    try {
        Files.newOutputStream(written, CREATE_NEW, WRITE).buffered().use { writeTo(it) }
        if (Files.exists(target)) Files.setPosixFilePermissions(written, Files.getPosixFilePermissions(target))
        Files.move(written, target, REPLACE_EXISTING)
    } finally {
        Files.deleteIfExists(written)
    }
}

/**
 * Reads a subnet that [writeTo] wrote. The bytes need not be trusted: the result is a subnet whose parts fit together,
 * or an exception. The stream stays open; what is behind the subnet is not of use to the caller.
 *
 * @param maxBytes how many bytes the subnet has at most before compression, which bounds the memory
 * @throws SubnetFileException if the bytes are no subnet, damaged, or of an unknown version
 * @throws IOException if the stream does
 */
public fun readSubnet(
    input: InputStream,
    maxBytes: Int = DEFAULT_MAX_SUBNET_BYTES,
): Subnet = subnet(input, maxBytes, isWhole = false)

/**
 * Loads a subnet that [save] saved.
 *
 * @throws SubnetFileException if the file is no subnet, damaged, or of an unknown version
 * @throws IOException if the file cannot be read
 */
public fun loadSubnet(
    file: Path,
    maxBytes: Int = DEFAULT_MAX_SUBNET_BYTES,
): Subnet = Files.newInputStream(file).buffered().use { subnet(it, maxBytes, isWhole = true) }

private fun subnet(
    input: InputStream,
    maxBytes: Int,
    isWhole: Boolean,
): Subnet =
    try {
        Subnet(SubnetBody.data(body(input, maxBytes, isWhole)))
    } catch (e: EOFException) {
        throw SubnetFileException("the subnet ends before its end: it was not written completely", e)
    } catch (e: ZipException) {
        throw SubnetFileException("the subnet is damaged: ${e.message}", e)
    }

private fun body(
    input: InputStream,
    maxBytes: Int,
    isWhole: Boolean,
): ByteArray {
    val head = DataInputStream(input)
    if (head.readLong() != MAGIC) throw SubnetFileException("this is no saved subnet")
    val version = head.readInt()
    if (version != VERSION) {
        throw SubnetFileException("the subnet is of version $version, but this program knows $VERSION: save it anew")
    }
    val size = head.readInt()
    val sum = head.readInt()
    if (size !in 0..maxBytes) {
        throw SubnetFileException("the subnet has $size bytes; at most $maxBytes are allowed: give a higher limit")
    }
    val engine = Inflater()
    try {
        // Grows with what comes, so a false length costs no memory.
        val inflater = InflaterInputStream(input, engine)
        val body = inflater.readNBytes(size)
        if (body.size != size) throw EOFException()
        if (inflater.read() != -1) throw SubnetFileException("the subnet is damaged: it is longer than it says")
        if (checksum(body) != sum) throw SubnetFileException("the subnet is damaged: its checksum is wrong")
        if (isWhole && (engine.remaining > 0 || input.read() != -1)) {
            throw SubnetFileException("the subnet is damaged: something is behind its end")
        }
        return body
    } finally {
        engine.end()
    }
}

private fun checksum(body: ByteArray): Int = CRC32C().apply { update(body) }.value.toInt()
