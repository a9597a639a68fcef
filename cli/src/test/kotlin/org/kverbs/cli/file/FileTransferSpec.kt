package org.kverbs.cli.file

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldMatch
import io.kotest.matchers.string.shouldNotContain
import org.kverbs.cli.Outcome
import org.kverbs.samples.both
import java.io.ByteArrayOutputStream
import java.io.File
import java.io.IOException
import java.io.PrintStream
import java.nio.file.Path
import java.util.concurrent.ConcurrentLinkedQueue
import kotlin.io.path.getPosixFilePermissions
import kotlin.random.Random

class FileTransferSpec :
    FunSpec({
        val folder = tempdir()

        fun file(
            name: String,
            size: Int,
        ) = File(folder, name).apply { writeBytes(Random(size).nextBytes(size)) }

        for (size in listOf(0, 1, SLOT.toInt() - 1, SLOT.toInt(), 20 * SLOT.toInt() + 7)) {
            test("should copy $size bytes, say how fast, and leave nothing else behind") {
                val target = File(folder, "to$size").apply { mkdir() }
                val outcome = Outcome("file", file("from$size", size).path, target.path, "-d", "embedded1")
                withClue(outcome) {
                    outcome.status shouldBe 0
                    outcome.out shouldMatch
                        """embedded1: $size bytes in \d+\.\d\d seconds = \d+\.\d MB/s, checksums agree\n"""
                }
                target.list() shouldBe arrayOf("from$size")
                File(target, "from$size").readBytes() shouldBe File(folder, "from$size").readBytes()
            }
        }

        test("should put a file in the place of another") {
            val target = file("old", 100)
            Outcome("file", file("new", 50).path, target.path).status shouldBe 0
            target.readBytes() shouldBe File(folder, "new").readBytes()
        }

        test("should draw a bar if it is asked to") {
            val console = System.err
            val drawn = ByteArrayOutputStream()
            System.setErr(PrintStream(drawn, true))
            try {
                Outcome("file", file("long", 5 * SLOT.toInt()).path, "$folder/drawn", "--progress").status shouldBe 0
                drawn.toString() shouldContain "long 100%"
                drawn.reset()
                Outcome("file", "$folder/long", "$folder/undrawn").status shouldBe 0
                drawn.toString() shouldNotContain "%"
            } finally {
                System.setErr(console)
            }
        }

        test("should tell of each piece that arrived, and fail and leave no file if the file changes meanwhile") {
            val from = file("changing", 3 * SLOT.toInt())
            val target = File(folder, "changed").apply { mkdir() }
            val told = ConcurrentLinkedQueue<Long>()
            val failure =
                shouldThrow<IOException> {
                    both(
                        "embedded0",
                        { name, onListening -> fileServer(target.toPath().resolve("to"), 0, name, onListening) },
                    ) { host, port, name ->
                        sendFile(from.toPath(), host, port, name) {
                            told += it
                            if (it == 3 * SLOT) from.writeBytes(ByteArray(3 * SLOT.toInt()))
                        }
                    }
                }
            failure.message shouldContain "$from was sent with checksum "
            failure.message shouldContain "arrived with checksum "
            told.sorted() shouldBe listOf(SLOT, 2 * SLOT, 3 * SLOT)
            target.list()!!.toList().shouldBeEmpty()
        }

        test("should refuse what it can't copy, with exit status 2") {
            val source = file("source", 10).path
            listOf(
                listOf("$folder/none", "$folder/x") to "there is no file to read at $folder/none",
                listOf(source, "$folder/none/x") to "there is no folder $folder/none",
                listOf(source, source) to "it is the same file as FROM",
            ).forEach { (arguments, message) ->
                val outcome = Outcome("file", *arguments.toTypedArray())
                outcome.status shouldBe 2
                outcome.err shouldContain message
            }
        }

        test("should say why the receiver can't make the file, in one sentence") {
            for (size in listOf(0, SLOT.toInt() + 1)) {
                val outcome = Outcome("file", file("unwelcome$size", size).path, "/proc/copy")
                outcome.status shouldBe 1
                outcome.err shouldMatch """kverbs: the receiver: /proc/copy\.[0-9a-f]+\.part can't be created there\n"""
            }
        }

        test("should say why the receiver can't keep what came, in one sentence and nothing else") {
            // A process with a limit for its files, as a full disk needs a disk.
            val target = File(folder, "limited").apply { mkdir() }
            val java = Path.of(System.getProperty("java.home"), "bin", "java").toString()
            val kverbs = "--enable-native-access=ALL-UNNAMED -cp \"$1\" org.kverbs.cli.KverbsKt"
            val command = "ulimit -f 4096; exec \"$0\" $kverbs file \"$2\" \"$3\""
            val source = file("too long", 20 * SLOT.toInt())
            val process =
                ProcessBuilder(
                    "bash",
                    "-c",
                    command,
                    java,
                    System.getProperty("java.class.path"),
                    source.path,
                    target.path,
                ).redirectErrorStream(true)
                    .start()
            process.inputReader().readText() shouldBe "kverbs: the receiver: File too large\n"
            process.waitFor() shouldBe 1
            target.list()!!.toList().shouldBeEmpty()
        }
    })
