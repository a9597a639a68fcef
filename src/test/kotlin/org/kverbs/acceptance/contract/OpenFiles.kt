package org.kverbs.acceptance.contract

import java.io.IOException
import java.nio.file.Files
import java.nio.file.Path

private val DESCRIPTORS = Path.of("/proc/self/fd")
private val NUMBER = Regex("\\[(\\d+)]")
private const val LOCAL = 1
private const val INODE = 9

/** How many descriptors of each kind this process has: a UDP socket with its address, a file with its path. */
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

/** What a descriptor is, or null if it was closed meanwhile, as that by which the folder is read. */
private fun target(descriptor: Path): String? =
    try {
        Files.readSymbolicLink(descriptor).toString().takeUnless { it.endsWith("/fd") }
    } catch (_: IOException) {
        null
    }

/** The local addresses of UDP sockets, in hexadecimal as the kernel writes them, by inode. */
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
