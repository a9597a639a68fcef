package org.kverbs.acceptance.lab

import io.kotest.assertions.withClue
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.acceptance.contract.ContractSpec
import org.kverbs.acceptance.contract.bytes
import java.util.concurrent.TimeUnit

/** Checks the error of a process that may lock little memory, in a separate process. */
internal class MemlockSpec :
    ContractSpec({
        case("should name the limit on locked memory and its value when a region doesn't fit") {
            val java =
                ProcessHandle
                    .current()
                    .info()
                    .command()
                    .orElseThrow()
            val program =
                listOf(java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "--enable-native-access=ALL-UNNAMED")
            val command = program + listOf("-cp", System.getProperty("java.class.path"), MAIN, device.name)
            // CAP_IPC_LOCK exempts root from the limit; a program can't get it back once it is out of the bounding set.
            val shell = "ulimit -l 64 && exec setpriv --bounding-set=-ipc_lock \"\$@\""
            val child = ProcessBuilder(listOf("bash", "-c", shell, "bash") + command).redirectErrorStream(true).start()
            val said = child.inputReader().readText()
            withClue(said) {
                child.waitFor(1, TimeUnit.MINUTES) shouldBe true
                child.exitValue() shouldBe 0
                said shouldContain "a page was registered"
                said shouldContain "ibv_reg_mr(${device.name}, addr=0x"
                said shouldContain "length=1048576, access=[LOCAL_WRITE]) failed: ENOMEM"
                said shouldContain "a soft limit of 65536 bytes and a hard limit of 65536 bytes (RLIMIT_MEMLOCK"
                said shouldContain "ulimit -l unlimited"
            }
        }
    })

private const val MAIN = "org.kverbs.acceptance.lab.MemlockProgram"
