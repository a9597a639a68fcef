package org.kverbs.acceptance

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import java.nio.file.Files
import java.nio.file.Path
import kotlin.io.path.createDirectories
import kotlin.io.path.div

/**
 * A folder that stands for the system: writable, whether or not the lane that runs the spec is under lab/guard itself.
 */
internal object PlayedSystem {
    /** The folder that stands for the system, in a mount namespace that ends with the command. */
    const val PATH = "/mnt"

    /** True if this user is root and may mount. Other users cannot write to the system, or get a comparison. */
    val mounts: Boolean by lazy {
        System.getProperty("user.name") == "root" &&
            ProcessBuilder("unshare", "--mount", "true").inheritIO().start().waitFor() == 0
    }

    /** Returns the words that run [script] by bash with an empty folder in memory as the system. */
    fun command(script: String): Array<String> =
        arrayOf("unshare", "--mount", "bash", "-c", "set -e; mount -t tmpfs -o mode=755 tmpfs $PATH; $script")
}

private val root = System.getProperty("user.name") == "root"

/** Checks `lab/guard`, under which the lanes run. */
class MachineGuardSpec :
    FunSpec({
        val ifMounts = { PlayedSystem.mounts }
        val system = PlayedSystem.PATH

        test("should refuse a new file in the system, which the same command writes without it").config(enabledIf = {
            ifMounts()
        }) {
            ScratchProject().use {
                val write = "bash -c 'echo overwritten > $system/trial && echo written'"
                it.run(*PlayedSystem.command(write)) shouldBe Outcome(0, "written\n")
                val outcome = it.run(*PlayedSystem.command("lab/guard $write"))
                outcome.output shouldContain "$system/trial: Read-only file system"
                outcome.status shouldBe 1
            }
        }

        test("should refuse to write to a machine's tool through a link to it").config(enabledIf = { ifMounts() }) {
            ScratchProject().use {
                val link = Files.createSymbolicLink(it.root / "link", Path.of(system, "tool"))
                val outcome =
                    it.run(
                        *PlayedSystem.command(
                            "echo tool > $system/tool; lab/guard bash -c ': >> $link' || cat $system/tool",
                        ),
                    )
                outcome.output shouldContain "Read-only file system"
                outcome.output shouldContain "\ntool\n"
            }
        }

        test("should refuse a change of the kernel's settings").config(enabledIf = { ifMounts() }) {
            ScratchProject().use {
                val setting = "$system/sys/kernel/printk_ratelimit"
                val same = $$"read -r value < $$setting; echo $value > $$setting; echo set"
                it.run(*PlayedSystem.command("mount -t proc proc $system; $same")).output shouldBe "set\n"
                it
                    .run(
                        *PlayedSystem.command("mount -t proc proc $system; lab/guard bash -c '$same'"),
                    ).output shouldContain
                    "Read-only file system"
            }
        }

        test("should let the command write to the checkout, the Maven repository and temporary folders") {
            ScratchProject().use {
                val write = $$"set -e; for d in . ~/.m2 /tmp /dev/shm; do echo > $d/kverbs-$$; rm $d/kverbs-$$; done"
                it.run("lab/guard", "bash", "-c", write) shouldBe Outcome(0, "")
            }
        }

        test(
            "should let the command write to a folder that is named, and not beside it",
        ).config(enabledIf = { ifMounts() }) {
            ScratchProject().use {
                val write = "echo > $system/named/file; echo written; echo > $system/other/file"
                val outcome =
                    it.run(
                        *PlayedSystem.command(
                            "mkdir $system/named $system/other; lab/guard --writable $system/named bash -c '$write'",
                        ),
                    )
                outcome.output shouldContain "written\n"
                outcome.output shouldContain "$system/other/file: Read-only file system"
            }
        }

        test("should refuse as well where one mount hides another").config(enabledIf = { ifMounts() }) {
            ScratchProject().use {
                val hidden = "mkdir $system/below; mount -t tmpfs tmpfs $system/below; mount -t tmpfs tmpfs $system"
                val outcome = it.run(*PlayedSystem.command("$hidden; lab/guard bash -c 'echo > $system/trial'"))
                outcome.output shouldContain "$system/trial: Read-only file system"
                outcome.output shouldNotContain "compared"
            }
        }

        test("should pass on arguments and the exit status") {
            ScratchProject().use {
                it.run("lab/guard", "bash", "-c", $$"echo \"$1|$2|$PWD\"; exit 7", "x", "a b", "") shouldBe
                    Outcome(7, "a b||${it.root}\n")
            }
        }

        test(
            "should compare the system's files where root may not mount, name the changed ones, and fail",
        ).config(enabledIf = {
            root
        }) {
            ScratchProject().use {
                it.program("unshare", "echo no mounts here; exit 1")
                val system = (it.root / "system").createDirectories()
                val tool = it.file("system/tool", "a tool")
                it.file("system/gone")
                val script =
                    "echo other > ${it.root}/new; mv ${it.root}/new $system/added; cat $system/added > " +
                        "$tool; rm $system/gone"
                val guarded = arrayOf("bash", "-c", $$"KVERBS_GUARDED=$1 exec lab/guard bash -c \"$2\"", "x", "$system")
                val outcome = it.run(*guarded, script)
                outcome.output shouldContain
                    "made read-only, so its files are compared after the command: no mounts here\n"
                outcome.output shouldContain
                    "these files of the system changed while the command ran:\n$system\n$system/added\n$tool\n"
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
                val all = listOf(emptyArray(), arrayOf("--hlep"), arrayOf("--writable"), arrayOf("--hlep", "bash"))
                all.forEach { wrong ->
                    it.run("lab/guard", *wrong) shouldBe Outcome(2, help.output)
                }
            }
        }
    })
