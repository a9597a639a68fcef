package org.kverbs.acceptance

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import java.nio.file.Files
import java.nio.file.Path
import kotlin.io.path.createDirectories
import kotlin.io.path.deleteExisting
import kotlin.io.path.div
import kotlin.io.path.exists
import kotlin.io.path.readBytes

internal object MachineGuard {
    /** A file that no test may manage to create. */
    const val TRIAL = "/usr/kverbs-trial"

    /** Is this root, and may it mount? Others cannot write to the system, or get a comparison. */
    val mounts: Boolean by lazy {
        System.getProperty("user.name") == "root" &&
            ProcessBuilder("unshare", "--mount", "true").inheritIO().start().waitFor() == 0
    }

    /** Deletes [TRIAL] where a test that failed has created it. */
    fun deleteTrial() {
        if (Path.of(TRIAL).exists()) Path.of(TRIAL).deleteExisting()
    }
}

private val root = System.getProperty("user.name") == "root"

/** `lab/guard`, under which the lanes run. */
class MachineGuardSpec :
    FunSpec({
        listOf(
            "the system" to MachineGuard.TRIAL,
            "a folder of device nodes" to "/dev/kverbs-trial",
            "root's home" to "/root/kverbs-trial",
        ).forEach { (where, path) ->
            test("should refuse a file in $where").config(enabledIf = { MachineGuard.mounts }) {
                ScratchProject().use {
                    try {
                        val outcome = it.run("lab/guard", "bash", "-c", "echo overwritten > $path")
                        outcome.output shouldContain "$path: Read-only file system"
                        outcome.status shouldBe 1
                    } finally {
                        if (Path.of(path).exists()) Path.of(path).deleteExisting()
                    }
                }
            }
        }

        test("should refuse to write to a machine's tool through a link to it").config(enabledIf = { MachineGuard.mounts }) {
            ScratchProject().use {
                val tool = Path.of("/usr/bin/id")
                val before = tool.readBytes()
                val link = Files.createSymbolicLink(it.root / "link", tool)
                it.run("lab/guard", "bash", "-c", ": >> $link").output shouldContain "Read-only file system"
                tool.readBytes() shouldBe before
            }
        }

        test("should refuse a change of the kernel's settings").config(enabledIf = { MachineGuard.mounts }) {
            ScratchProject().use {
                val setting = "/proc/sys/kernel/printk_ratelimit"
                it.run("lab/guard", "bash", "-c", "echo \"$(<$setting)\" > $setting").output shouldContain "Read-only file system"
            }
        }

        test("should let the command write to the checkout, the Maven repository, temporary folders, and a folder that is named") {
            ScratchProject().use {
                val folders = ". ~/.m2 /tmp /dev/shm /var/tmp"
                val write = $$"set -e; for d in $$folders; do echo > $d/kverbs-$$; rm $d/kverbs-$$; done"
                it.run("lab/guard", "--writable", "/var/tmp", "bash", "-c", write) shouldBe Outcome(0, "")
                if (MachineGuard.mounts) it.run("lab/guard", "bash", "-c", write).output shouldContain "/var/tmp/kverbs-"
            }
        }

        test("should pass on arguments and the exit status") {
            ScratchProject().use {
                it.run("lab/guard", "bash", "-c", $$"echo \"$1|$2|$PWD\"; exit 7", "x", "a b", "") shouldBe Outcome(7, "a b||${it.root}\n")
            }
        }

        test("should compare the system's files where root may not mount, name the changed ones, and fail").config(enabledIf = { root }) {
            ScratchProject().use {
                it.program("unshare", "exit 1")
                val system = (it.root / "system").createDirectories()
                val tool = it.file("system/tool", "a tool")
                it.file("system/gone")
                val script = "echo other > ${it.root}/new; mv ${it.root}/new $system/added; cat $system/added > $tool; rm $system/gone"
                val guarded = arrayOf("bash", "-c", $$"KVERBS_GUARDED=$1 exec lab/guard bash -c \"$2\"", "x", "$system")
                val outcome = it.run(*guarded, script)
                outcome.output shouldContain "changed on this machine while the command ran:\n$system\n$system/added\n$tool\n"
                outcome.status shouldBe 1
                val unchanged = it.run(*guarded, "cat $tool")
                unchanged.output shouldNotContain "changed"
                unchanged.status shouldBe 0
            }
        }

        test("should run a command of another user as it is, who can't write to the system") {
            ScratchProject().use {
                it.program("id", "echo 1000")
                it.program("unshare", "echo unshare")
                it.run("lab/guard", "bash", "-c", "echo as it is") shouldBe Outcome(0, "as it is\n")
            }
        }

        test("should explain itself") {
            ScratchProject().use {
                val help = it.run("lab/guard", "--help")
                help.output shouldContain "lab/guard [--writable DIR]... COMMAND"
                help.status shouldBe 0
                listOf(emptyArray(), arrayOf("--hlep"), arrayOf("--writable"), arrayOf("--hlep", "bash")).forEach { wrong ->
                    it.run("lab/guard", *wrong) shouldBe Outcome(2, help.output)
                }
            }
        }
    })
