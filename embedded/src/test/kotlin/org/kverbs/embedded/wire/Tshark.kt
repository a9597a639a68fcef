package org.kverbs.embedded.wire

import io.kotest.core.test.Enabled
import io.kotest.core.test.TestCase

/** Runs the installed tshark, which reads captures. */
internal object Tshark {
    private val missing: String? by lazy {
        if (runCatching { run("--version") }.isSuccess) null else "tshark is missing: run 'apt-get install tshark'"
    }

    /**
     * Under KVERBS_REQUIRE_TOOLS=1 the test runs, and [require] fails it. Throwing here is not enough, since Kotest
     * takes that for a skip.
     */
    fun presentOrSkipped(
        @Suppress("UNUSED_PARAMETER") case: TestCase,
    ): Enabled {
        val reason = missing
        return if (reason == null || System.getenv("KVERBS_REQUIRE_TOOLS") == "1") {
            Enabled.enabled
        } else {
            Enabled.disabled(reason)
        }
    }

    fun require() {
        missing?.let { error(it) }
    }

    /**
     * Returns the number of each packet that is malformed or has a warning or an error, checksums included, with the
     * complaint.
     */
    fun complaints(file: String): List<String> =
        lines(
            run(
                "-r",
                file,
                "-Y",
                "_ws.malformed or _ws.expert.severity >= \"Warning\"",
                *columns("frame.number", "_ws.expert.message"),
            ),
        )

    fun fields(
        file: String,
        name: String,
    ): List<String> = lines(run("-r", file, *columns(name)))

    private val checksums = listOf("-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE")

    /** The protocols that tshark guesses for payloads, even empty ones, and then finds malformed. */
    private val guesses =
        listOf(
            "smc",
            "smb_direct",
            "rpcordma",
            "nvme-rdma",
            "lnet",
            "iser",
            "infiniband.eoib",
            "infiniband_sdp",
            "fcoib",
        ).flatMap { listOf("--disable-protocol", it) }

    private fun columns(vararg names: String) =
        arrayOf(
            "-T",
            "fields",
            "-E",
            "separator=/s",
            *names
                .flatMap {
                    listOf("-e", it)
                }.toTypedArray(),
        )

    private fun lines(output: String) = output.lines().filter { it.isNotEmpty() }

    private fun run(vararg arguments: String): String {
        val process =
            ProcessBuilder(
                listOf("tshark") + checksums + guesses + arguments,
            ).redirectError(ProcessBuilder.Redirect.DISCARD).start()
        val output = process.inputStream.readBytes().decodeToString()
        check(process.waitFor() == 0) { "tshark ${arguments.joinToString(" ")} ended with ${process.exitValue()}" }
        return output
    }
}
