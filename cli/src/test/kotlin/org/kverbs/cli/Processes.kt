package org.kverbs.cli

import io.kotest.matchers.shouldBe
import java.nio.file.Path

/**
 * The program, in a process of its own. Ctrl-C reaches it, even if this process was started in the background, where
 * shells ignore that signal.
 */
internal fun process(arguments: List<String>): Process {
    val java = Path.of(System.getProperty("java.home"), "bin", "java").toString()
    val classPath = System.getProperty("java.class.path")
    val code = listOf("--enable-native-access=ALL-UNNAMED", "-cp", classPath, "org.kverbs.cli.KverbsKt")
    return ProcessBuilder(listOf("env", "--default-signal=INT", java) + code + arguments).start()
}

/** Sends a process a signal, by the shell's own `kill`: a minimal system has no program of that name. */
internal fun signal(
    name: String,
    process: Process,
) {
    ProcessBuilder("sh", "-c", "kill -$name ${process.pid()}").start().waitFor() shouldBe 0
}
