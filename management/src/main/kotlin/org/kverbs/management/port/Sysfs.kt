package org.kverbs.management.port

import java.io.IOException
import java.nio.file.Path
import java.nio.file.StandardOpenOption
import kotlin.io.path.isDirectory
import kotlin.io.path.listDirectoryEntries
import kotlin.io.path.name
import kotlin.io.path.readText
import kotlin.io.path.writeBytes

/**
 * A folder of what the kernel tells of its RDMA devices, `/sys/class/infiniband` or one below it. What is absent reads
 * as null: drivers leave files out, and devices go away.
 *
 * The system property `kverbs.sysfs` names another place of `/sys`: ibsim's library makes one in the working directory.
 */
internal class Sysfs private constructor(
    private val folder: Path,
) {
    fun text(file: String): String? =
        try {
            folder.resolve(file).readText().removeSuffix("\n")
        } catch (_: IOException) {
            null
        }

    /** Writes a file that is there. */
    fun write(
        file: String,
        bytes: ByteArray,
    ) = folder.resolve(file).writeBytes(bytes, StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING)

    /** The number at the start of a text such as `4: ACTIVE`, or a hexadecimal one such as `0x12`. */
    fun number(file: String): Long? =
        text(file)?.substringBefore(':')?.trim()?.let {
            if (it.startsWith("0x")) it.drop(2).toLongOrNull(16) else it.toLongOrNull()
        }

    fun folder(name: String): Sysfs = Sysfs(folder.resolve(name))

    val exists: Boolean get() = folder.isDirectory()

    /** The names in the folder in the order of their numbers and letters: `mlx5_2` is before `mlx5_10`. */
    fun names(): List<String> =
        try {
            folder
                .listDirectoryEntries()
                .map { it.name }
                .sortedWith(compareBy({ it.dropLastWhile(Char::isDigit) }, ::last))
        } catch (_: IOException) {
            emptyList()
        }

    private fun last(name: String) = name.takeLastWhile(Char::isDigit).toLongOrNull() ?: -1

    companion object {
        /** The devices. */
        fun devices(): Sysfs = Sysfs(Path.of(System.getProperty("kverbs.sysfs", "/sys"), "class", "infiniband"))
    }
}
