package org.kverbs.acceptance.lab

import io.kotest.assertions.withClue
import io.kotest.matchers.shouldBe
import org.kverbs.acceptance.contract.ContractSpec
import org.kverbs.acceptance.contract.PORT
import java.nio.file.Files
import java.nio.file.Path
import java.util.concurrent.TimeUnit
import kotlin.io.path.readBytes
import kotlin.io.path.readLines
import kotlin.io.path.writeBytes

/** Checks the GIDs on this machine's libibverbs without the calls for them, which exist since rdma-core 32. */
internal class OldReleaseSpec :
    ContractSpec({
        case("should find the same GIDs, types and interfaces without the calls of rdma-core 32 as with them") {
            val said = onOldLibrary("org.kverbs.acceptance.lab.GidsProgram", device.name)
            said shouldBe gidLines(context, PORT)
        }
    })

/** The names of the functions in the copy, of the same length and without another use. */
private val HIDDEN = listOf("_ibv_query_gid_ex", "_ibv_query_gid_table").associateWith { it.dropLast(1) + "#" }

private fun onOldLibrary(
    main: String,
    vararg arguments: String,
): List<String> {
    val library = Path.of("/proc/self/maps").readLines().first { "libibverbs.so" in it }.substringAfterLast(' ')
    val old = Files.createTempFile("libibverbs", ".so.1")
    try {
        val bytes = Path.of(library).readBytes()
        old.writeBytes(HIDDEN.entries.fold(bytes) { all, (name, hidden) -> all.replaced(name, hidden) })
        val java =
            ProcessHandle
                .current()
                .info()
                .command()
                .orElseThrow()
        val native = listOf("--enable-native-access=ALL-UNNAMED", "-Dkverbs.libibverbs=$old")
        val options = native + "-XX:TieredStopAtLevel=1"
        val program = listOf("-cp", System.getProperty("java.class.path"), main) + arguments
        val child = ProcessBuilder(listOf(java) + options + program).redirectErrorStream(true).start()
        val said = child.inputReader().readLines()
        withClue(said) {
            child.waitFor(1, TimeUnit.MINUTES) shouldBe true
            child.exitValue() shouldBe 0
        }
        return said
    } finally {
        Files.delete(old)
    }
}

private fun ByteArray.replaced(
    name: String,
    by: String,
): ByteArray {
    val text = String(this, Charsets.ISO_8859_1)
    check(text.split("\u0000$name\u0000").size == 2) { "$name is not once in the library" }
    return text.replace("\u0000$name\u0000", "\u0000$by\u0000").toByteArray(Charsets.ISO_8859_1)
}
