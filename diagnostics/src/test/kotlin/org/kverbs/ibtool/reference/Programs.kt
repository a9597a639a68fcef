package org.kverbs.ibtool.reference

import io.kotest.core.test.Enabled
import java.nio.file.Files
import java.nio.file.Path

/** The programs of other projects that the specs of this package compare with. */
internal object Programs {
    private val needed = listOf("ibsim", "opensm", "ibnetdiscover", "smpquery", "saquery")
    private val folders = System.getenv("PATH").split(':') + listOf("/usr/sbin", "/usr/bin")

    private val missing: String? by lazy {
        val absent = needed.filter { name -> folders.none { Files.isExecutable(Path.of(it, name)) } }
        if (absent.isEmpty() && Ibsim.preload.isNotEmpty()) {
            null
        } else {
            "$absent missing: run 'apt-get install infiniband-diags ibsim-utils opensm', or ./verify, which does."
        }
    }

    /** Skips, and says why, where they are absent. Under KVERBS_REQUIRE_TOOLS=1, as in ./verify, the test fails. */
    val presentOrSkipped: Enabled
        get() {
            val said = missing
            val isRequired = System.getenv("KVERBS_REQUIRE_TOOLS") == "1"
            return if (said == null || isRequired) Enabled.enabled else Enabled.disabled(said)
        }
}
