package org.kverbs.internal

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import java.util.concurrent.TimeUnit

class MemlockLimitSpec :
    FunSpec({
        val limits =
            """
            Limit                     Soft Limit           Hard Limit           Units
            Max processes             63432                63432                processes
            Max locked memory         8388608              unlimited            bytes
            Max address space         unlimited            unlimited            bytes
            """.trimIndent()

        test("should read soft and hard limit") {
            MemlockLimit.parse(limits) shouldBe MemlockLimit("8388608", "unlimited")
        }

        test("should name both limits and every way to raise them") {
            val advice = MemlockLimit("65536", "unlimited").advice()

            listOf(
                "soft limit of 65536 bytes",
                "hard limit of unlimited",
                "ulimit -l unlimited",
                "/etc/security/limits.conf",
                "LimitMEMLOCK=infinity",
                "docker run --ulimit memlock=-1",
            ).forEach { advice shouldContain it }
        }

        test("should not blame a limit that is not set") {
            val advice = MemlockLimit("unlimited", "unlimited").advice()

            advice shouldContain "unlimited, so the machine or the device is short of memory"
            advice shouldNotContain "ulimit"
        }

        test("should know a limit of zero, which the kernel answers with EPERM") {
            MemlockLimit("0", "0").isZero shouldBe true
            MemlockLimit("65536", "65536").isZero shouldBe false
            MemlockLimit("unlimited", "unlimited").isZero shouldBe false
        }

        test("should say so where the limit cannot be read") {
            MemlockLimit.parse("") shouldBe MemlockLimit("unknown", "unknown")
            MemlockLimit.parse("").advice() shouldContain "soft limit of unknown"
        }

        test("should agree with the shell on the limit of this process") {
            val shell = ProcessBuilder("sh", "-c", "ulimit -S -l").start()
            val kibibytes = String(shell.inputStream.readAllBytes()).trim()
            shell.waitFor(10, TimeUnit.SECONDS) shouldBe true

            val bytes = if (kibibytes == "unlimited") kibibytes else "${kibibytes.toLong() * 1024}"
            MemlockLimit.current().soft() shouldBe bytes
        }
    })
