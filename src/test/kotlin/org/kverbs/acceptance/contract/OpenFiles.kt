package org.kverbs.acceptance.contract

import java.io.IOException
import java.nio.file.Files
import java.nio.file.Path

private val DESCRIPTORS = Path.of("/proc/self/fd")
private val NUMBER = Regex("\\[(\\d+)]")
private const val LOCAL = 1
private const val INODE = 9

/** Returns how many descriptors of each kind this process has: a UDP socket with its address, a file with its path. */
internal fun openFiles(): Map<String, Int> {
    val sockets = sockets()
    return Files.list(DESCRIPTORS).use { all ->
        all
            .toList()
            .mapNotNull(::target)
            .map { target -> NUMBER.find(target)?.let { sockets[it.groupValues[1]] } ?: target.replace(NUMBER, "") }
            .groupingBy { it }
            .eachCount()
    }
}

/** Returns the target of a descriptor, or null if it was closed in the meantime, like the one that reads the folder. */
private fun target(descriptor: Path): String? =
    try {
        Files.readSymbolicLink(descriptor).toString().takeUnless { it.endsWith("/fd") }
    } catch (_: IOException) {
        null
    }

/** Returns the local addresses of UDP sockets, in the kernel's hexadecimal form, by inode. */
private fun sockets(): Map<String, String> =
    listOf("udp", "udp6")
        .map { Path.of("/proc/self/net", it) }
        .filter(Files::exists)
        .flatMap { file ->
            Files.readAllLines(file).drop(1).map { line ->
                val fields = line.trim().split(Regex("\\s+"))
                fields[INODE] to "${file.fileName} ${fields[LOCAL]}"
            }
        }.toMap()
