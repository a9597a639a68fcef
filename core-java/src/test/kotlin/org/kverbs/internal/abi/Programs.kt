package org.kverbs.internal.abi

import io.kotest.core.test.Enabled
import java.nio.file.Files
import java.nio.file.Path
import kotlin.io.path.ExperimentalPathApi
import kotlin.io.path.deleteRecursively

/** Runs a program to its end and returns what it printed; an exit status other than zero is an error with that text. */
internal fun runProgram(
    vararg command: String,
    environment: Map<String, String> = emptyMap(),
): String {
    val builder = ProcessBuilder(*command).redirectErrorStream(true)
    builder.environment().putAll(environment)
    val process = builder.start()
    val output = process.inputStream.readAllBytes().decodeToString()
    check(process.waitFor() == 0) { "${command.joinToString(" ")} failed:\n$output" }
    return output
}

/** Disables a test and prints the reason: Surefire's report keeps the count of skipped tests, and drops the reasons. */
internal fun skipped(reason: String): Enabled {
    println("A test of the C layouts is skipped: $reason")
    return Enabled.disabled(reason)
}

/** Runs the block with a temporary folder and deletes the folder afterwards. */
@OptIn(ExperimentalPathApi::class)
internal fun <T> inTemporaryFolder(block: (Path) -> T): T {
    val folder = Files.createTempDirectory("kverbs-abi")
    try {
        return block(folder)
    } finally {
        folder.deleteRecursively()
    }
}
