package org.kverbs.acceptance

import io.kotest.assertions.nondeterministic.eventually
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldNotBeEmpty
import io.kotest.matchers.shouldBe
import io.kotest.matchers.shouldNotBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldMatch
import java.nio.file.Path
import kotlin.io.path.ExperimentalPathApi
import kotlin.io.path.createTempDirectory
import kotlin.io.path.deleteRecursively
import kotlin.io.path.div
import kotlin.io.path.exists
import kotlin.io.path.listDirectoryEntries
import kotlin.io.path.name
import kotlin.io.path.readLines
import kotlin.io.path.readText
import kotlin.time.Duration.Companion.minutes

/** The programs in a base that is made in milliseconds: those that `lab/fresh` and the tests run inside. */
private const val PROGRAMS = "bash env umount sleep touch cat"

/** Makes `$1/base` of [PROGRAMS] and their libraries, and marks it as complete. */
private val makeBase =
    $$"""
    set -e
    cd "$1"
    mkdir -p base/{bin,dev,etc/ssl/certs,proc,sys,root,tmp,usr/lib/locale}
    ln -s ../bin base/usr/bin
    cp -r /usr/lib/locale/C.utf8 base/usr/lib/locale/
    for program in $$PROGRAMS; do
      cp "$(readlink -f "$(command -v $program)")" base/bin/$program
      for library in $(ldd base/bin/$program | grep -o '/[^ ]*'); do
        [ -e base$library ] || install -D $library base$library
      done
    done
    echo 'ca-certificates,git,maven,openjdk-17-jdk-headless' > base.made
    """.trimIndent()

/**
 * A checkout with one commit, and a base in memory: in the checkout the base could lie on an overlay on an overlay,
 * which Linux does not permit.
 */
@OptIn(ExperimentalPathApi::class)
private class FreshProject : AutoCloseable {
    val project = ScratchProject()

    /** A command that does not end, with a name that no other build uses. */
    val endless = "sleep 600.${System.nanoTime()}"
    private val kept = createTempDirectory(Path.of("/dev/shm"), "kverbs")

    init {
        check("bash", "-c", makeBase, "base", "$kept")
        project.file("committed", "as committed")
        val commit = "git -c user.name=a -c user.email=a@example.org commit -qm first"
        check("bash", "-c", "git init -q && git add . && $commit")
    }

    /** Starts [command] in a fresh system. */
    fun starting(command: String): Process =
        ProcessBuilder("lab/fresh", command)
            .directory(project.root.toFile())
            .redirectErrorStream(true)
            .apply { environment()["KVERBS_FRESH_DIR"] = "$kept" }
            .start()

    fun run(command: String): Outcome =
        starting(command).let { process ->
            val output = process.inputReader().readText()
            Outcome(process.waitFor(), output)
        }

    /** Returns the processes of a run, and its mounts and files: none if no run is active. */
    fun leftovers(): List<String> =
        ProcessHandle
            .allProcesses()
            .map { it.info().commandLine().orElse("") }
            .filter { "$kept" in it || endless in it }
            .toList() +
            Path.of("/proc/self/mounts").readLines().filter { "$kept" in it } +
            kept.listDirectoryEntries().map { it.name }.filter { it !in setOf("base", "base.made", "lock", "mount") } +
            (kept / "mount").listDirectoryEntries().map { it.name }

    private fun check(vararg command: String) {
        val process = ProcessBuilder(*command).directory(project.root.toFile()).redirectErrorStream(true).start()
        val output = process.inputReader().readText()
        check(process.waitFor() == 0) { output }
    }

    override fun close() {
        kept.deleteRecursively()
        project.close()
    }
}

/** Checks `lab/fresh` without the real base, which CI makes. */
class FreshSpec :
    FunSpec({
        test(
            "should run the command in a clone of HEAD without this machine's files, and pass on its exit status",
        ).config(
            enabledIf = { PlayedSystem.mounts },
        ) {
            FreshProject().use {
                it.project.file("committed", "changed since")
                it.project.file("added")
                val files = "added ${it.project.root} /usr/lib/jvm/jdk-25/release"
                val script =
                    $$"cat committed; echo \" $PWD $HOME\"; for f in $$files; do [ -e $f ] && echo $f; " +
                        "done; exit 7"
                it.run(script) shouldBe Outcome(7, "as committed /root/kverbs /root\n/usr/lib/jvm/jdk-25/release\n")
            }
        }

        test("should throw away what the command writes, and keep the kernel's settings and the JDK from it").config(
            enabledIf = { PlayedSystem.mounts },
        ) {
            FreshProject().use {
                it.run("touch /bin/new /root/kverbs/new /dev/shm/new /dev/new && echo written").output shouldBe
                    "written\n"
                val all = "/bin/new /root/kverbs/new /dev/shm/new /dev/new"
                it.run($$"for f in $$all; do [ ! -e $f ] || echo $f; done") shouldBe Outcome(0, "")
                listOf("/usr/lib/jvm/jdk-25/new", "/proc/sys/new", "/sys/new").forEach { path ->
                    it.run("echo > $path").output shouldContain "$path: "
                }
                it.run("echo > /usr/lib/jvm/jdk-25/release").output shouldContain "Read-only file system"
                it.leftovers().shouldBeEmpty()
            }
        }

        listOf("KILL", "TERM").forEach { signal ->
            test("should leave no process, mount or file behind when SIG$signal ends it, nor after it").config(
                enabledIf = { PlayedSystem.mounts },
            ) {
                FreshProject().use {
                    val process = it.starting("${it.endless} & touch here; echo begun; ${it.endless}")
                    process.inputReader().readLine() shouldBe "begun"
                    it.leftovers().shouldNotBeEmpty()
                    ProcessBuilder("bash", "-c", "kill -$signal ${process.pid()}").start().waitFor() shouldBe 0
                    process.waitFor() shouldNotBe 0
                    eventually(1.minutes) { it.leftovers().shouldBeEmpty() }
                    it.run("[ ! -e here ] && ${it.endless} & echo again") shouldBe Outcome(0, "again\n")
                    it.leftovers().shouldBeEmpty()
                }
            }
        }

        test("should be the system in which CI runs ./verify") {
            ScratchProject().use {
                it.script("lab/fresh", $$"[ $1 = true ] || { echo \"in a fresh system: $1\"; exit 3; }")
                it.run(".ci/run") shouldBe Outcome(3, "in a fresh system: ./verify\n")
            }
        }

        test("should let CI run ./verify itself, with a message, if the fresh system can't be made") {
            ScratchProject().use {
                it.script("lab/fresh", "echo no mounts; exit 125")
                it.script("verify", "echo verified; exit 4")
                val outcome = it.run(".ci/run")
                outcome.status shouldBe 4
                outcome.output shouldMatch Regex("no mounts\n.*DIRECTLY.*\nverified\n")
            }
        }

        test("should tell that it needs root, with its own exit status") {
            ScratchProject().use {
                it.program("id", "echo 1000")
                it.run("lab/fresh", "true") shouldBe Outcome(125, "lab/fresh: run it as root: it mounts file systems\n")
            }
        }

        test("should explain itself, and make nothing") {
            ScratchProject().use {
                val help = it.run("lab/fresh", "--help")
                help.output shouldContain "lab/fresh 'COMMAND'"
                help.status shouldBe 0
                listOf(emptyArray(), arrayOf(""), arrayOf("--hlep"), arrayOf("a", "b")).forEach { wrong ->
                    it.run("lab/fresh", *wrong) shouldBe Outcome(2, help.output)
                }
                (it.root / ".cache").exists() shouldBe false
            }
        }
    })
