package org.kverbs.acceptance

import java.io.File
import java.nio.file.Files
import java.nio.file.Path
import java.util.concurrent.TimeUnit.SECONDS
import kotlin.io.path.ExperimentalPathApi
import kotlin.io.path.copyTo
import kotlin.io.path.createDirectories
import kotlin.io.path.createTempDirectory
import kotlin.io.path.deleteIfExists
import kotlin.io.path.deleteRecursively
import kotlin.io.path.div
import kotlin.io.path.readText
import kotlin.io.path.writeText

/** Holds a program's output, standard output and error in one, and its exit status. */
internal data class Outcome(
    val status: Int,
    val output: String,
)

/**
 * A folder with this project's top-level programs and stand-ins for the programs that they call, so that their
 * decisions can be tested in milliseconds: the test decides what `mvn`, `java` and `lab/lab.sh` do. [close] deletes it.
 */
@OptIn(ExperimentalPathApi::class)
internal class ScratchProject : AutoCloseable {
    val root: Path = createTempDirectory("kverbs").toRealPath()
    private val bin = (root / "bin").createDirectories()
    private val jdk = root / "jdk"

    /** The names of the programs that were started since [record], one in each line. */
    val started: Path = root / "started"

    init {
        val project = Path.of(System.getProperty("kverbs.root"))
        programs.forEach { (project / it).copyTo((root / it).apply { parent.createDirectories() }) }
        (programs - sourced).forEach { (root / it).executable() }
        Files.createSymbolicLink(bin / "bash", programOnPath("bash"))
        tools.forEach { Files.createSymbolicLink(bin / it, programOnPath(it)) }
        stub(jdk / "bin/java", $$"echo \"java ${*: -2}\"; exit 7")
        stub(jdk / "bin/javac", "exit 1")
        (jdk / "release").writeText("JAVA_VERSION=\"25.0.1\"\n")
        stub(bin / "dpkg-query", $$"printf '%s installed\\n' \"$@\"")
    }

    /** Adds a program to the PATH of the programs under test, which has nothing else. */
    fun program(
        name: String,
        script: String,
    ) = stub(bin / name, script)

    /** Makes each program on the PATH, except the shell, add a line to [started] when it runs. */
    fun record() =
        tools.forEach {
            stub(bin / it, $$"echo $$it >> $$started; exec $${programOnPath(it)} \"$@\"")
        }

    /** Writes a file of the project, with the folders above it. */
    fun file(
        name: String,
        text: String = "",
    ): Path = (root / name).apply { replace(text) }

    /** Adds a program inside the project's folder, such as lab/lab.sh. */
    fun script(
        name: String,
        script: String,
    ) = stub(root / name, script)

    /** Runs [command] in [directory] with the stand-in for a JDK 25, or with [javaHome] instead. */
    fun run(
        vararg command: String,
        directory: Path = root,
        javaHome: Path = jdk,
    ): Outcome {
        val output = root / "output"
        val process =
            ProcessBuilder(*command)
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .apply { environment().putAll(mapOf("PATH" to "$bin", "KVERBS_JAVA_HOME" to "$javaHome")) }
                .start()
        check(
            process.waitFor(60, SECONDS),
        ) { "$command did not end: ${output.readText()}".also { process.destroyForcibly() } }
        return Outcome(process.exitValue(), output.readText())
    }

    override fun close() {
        root.deleteRecursively() // does not follow links, unlike File
    }

    private fun stub(
        path: Path,
        script: String,
    ) {
        path.replace("#!/bin/bash\n$script\n")
        path.executable()
    }

    private fun Path.replace(text: String) {
        parent.createDirectories()
        deleteIfExists() // the link leads to the machine's own tool, which writing would overwrite
        writeText(text)
    }

    private fun Path.executable() = check(toFile().setExecutable(true)) { "$this can not be made executable" }

    private companion object {
        /** What the programs read, and nobody runs. */
        val sourced = setOf("lab/host.sh", "lab/build.sh", "cli/src/archive/aot.sh")

        val programs =
            listOf(
                "kverbs",
                "ibtool",
                "verify",
                ".ci/run",
                "lab/fresh",
                "lab/guard",
                "lab/lab.sh",
                "lab/setup.sh",
            ) + sourced

        /** The tools that the programs under test may call. */
        val tools =
            listOf(
                "readlink",
                "find",
                "grep",
                "awk",
                "mkdir",
                "mv",
                "flock",
                "sed",
                "rm",
                "id",
                "touch",
                "cat",
                "head",
                "date",
                "sort",
                "tee",
                "cut",
                "tail",
                "tar",
                "sleep",
            ) +
                listOf("diff", "cksum", "stat", "unshare", "mount", "mountpoint", "setpriv", "chmod")
    }

    private fun programOnPath(name: String): Path =
        System
            .getenv("PATH")
            .split(File.pathSeparatorChar)
            .map { Path.of(it) / name }
            .first { Files.isExecutable(it) }
}
