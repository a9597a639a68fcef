package org.kverbs.cli.file

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.shouldBe
import io.kotest.matchers.shouldNotBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.cli.Outcome
import org.kverbs.samples.both
import java.io.IOException
import java.net.StandardProtocolFamily.UNIX
import java.net.UnixDomainSocketAddress
import java.nio.channels.ServerSocketChannel
import java.nio.file.Files
import java.nio.file.LinkOption.NOFOLLOW_LINKS
import java.nio.file.Path
import java.nio.file.attribute.PosixFilePermissions.asFileAttribute
import java.nio.file.attribute.PosixFilePermissions.fromString
import kotlin.io.path.createDirectory
import kotlin.io.path.createFile
import kotlin.io.path.createLinkPointingTo
import kotlin.io.path.createSymbolicLinkPointingTo
import kotlin.io.path.div
import kotlin.io.path.exists
import kotlin.io.path.getPosixFilePermissions
import kotlin.io.path.inputStream
import kotlin.io.path.isSymbolicLink
import kotlin.io.path.isWritable
import kotlin.io.path.listDirectoryEntries
import kotlin.io.path.name
import kotlin.io.path.readText
import kotlin.io.path.setPosixFilePermissions
import kotlin.io.path.writeText

/** A name for something that is no regular file, and how to make it; where it can't be made, that returns false. */
private class Oddity(
    val name: String,
    val make: (Path) -> Boolean,
)

private fun run(vararg command: String) = ProcessBuilder(*command).redirectErrorStream(true).start().waitFor() == 0

private val oddities =
    listOf(
        Oddity("FIFO") { run("mkfifo", "$it") },
        Oddity("socket") {
            ServerSocketChannel.open(UNIX).use { socket -> socket.bind(UnixDomainSocketAddress.of(it)) }
            true
        },
        // The device whose other name is /dev/full. Only root may make one, and not in every container.
        Oddity("device node") { run("mknod", "$it", "c", "1", "7") },
    )

/** The kind, the mode and the inode of a file. */
private fun state(path: Path): List<Any?> =
    listOf("isRegularFile", "isSymbolicLink", "isDirectory", "isOther", "size", "fileKey", "permissions").map {
        Files.readAttributes(path, "posix:$it", NOFOLLOW_LINKS)[it]
    }

private fun inode(path: Path) = Files.getAttribute(path, "unix:ino")

internal class FileTargetSpec :
    FunSpec({
        var folders = 0
        val all = tempdir().toPath()

        /** A folder with a source of this mode. */
        fun folder(sourceMode: String = "rw-r--r--"): Path =
            (all / "${folders++}").createDirectory().also {
                (it / "from").apply { writeText("new contents") }.setPosixFilePermissions(fromString(sourceMode))
            }

        fun copy(
            folder: Path,
            target: String,
        ) = Outcome("file", "$folder/from", "$folder/$target")

        for (mode in listOf("rwxr-xr-x", "r--------", "rw-rw-rw-")) {
            test("should keep the mode $mode of the file that it writes, or refuse one that it may not write") {
                val folder = folder()
                val target = (folder / "to").apply { writeText("an old, longer text of another file") }
                target.setPosixFilePermissions(fromString(mode))
                val outcome = copy(folder, "to")
                target.getPosixFilePermissions() shouldBe fromString(mode)
                withClue(outcome) {
                    if (target.isWritable()) {
                        outcome.status shouldBe 0
                        target.readText() shouldBe "new contents"
                    } else {
                        outcome.status shouldBe 2
                        outcome.err shouldContain "$target: permission denied"
                    }
                }
            }

            test("should give a new file the mode $mode of its source, less the umask") {
                val folder = folder(mode)
                val usual = (folder / "as any program makes it").createFile(asFileAttribute(fromString(mode)))
                val expected = usual.getPosixFilePermissions()
                val outcome = copy(folder, "to")
                withClue(outcome) { outcome.status shouldBe 0 }
                (folder / "to").getPosixFilePermissions() shouldBe expected
            }
        }

        test("should write the file that a link leads to, through another folder, and leave the link") {
            val folder = folder()
            (folder / "beyond").createDirectory()
            val target = (folder / "beyond" / "target").apply { writeText("old") }
            val link = (folder / "to").createSymbolicLinkPointingTo(Path.of("beyond", "target"))
            copy(folder, "to").status shouldBe 0
            link.isSymbolicLink() shouldBe true
            target.readText() shouldBe "new contents"
            folder.listDirectoryEntries().map { it.name }.sorted() shouldBe listOf("beyond", "from", "to")
            (folder / "beyond").listDirectoryEntries() shouldBe listOf(target)
        }

        test("should leave the hard links of a file, and write what all of them name") {
            val folder = folder()
            val target = (folder / "to").apply { writeText("old") }
            val other = (folder / "other").createLinkPointingTo(target)
            val before = inode(target)
            copy(folder, "to").status shouldBe 0
            listOf(target, other).map(::inode) shouldBe listOf(before, before)
            other.readText() shouldBe "new contents"
        }

        test("should leave the old contents to a program that has them open") {
            val folder = folder()
            val target = (folder / "to").apply { writeText("old") }
            target.inputStream().use {
                copy(folder, "to").status shouldBe 0
                it.readBytes().decodeToString() shouldBe "old"
            }
            target.readText() shouldBe "new contents"
        }

        test("should write a file in a folder that it may not write, as cp does") {
            val folder = folder()
            val target = ((folder / "shut").createDirectory() / "to").apply { writeText("an old, longer text") }
            target.setPosixFilePermissions(fromString("rw-rw----"))
            target.parent.setPosixFilePermissions(fromString("r-xr-xr-x"))
            val outcome = copy(folder, "shut/to")
            target.parent.setPosixFilePermissions(fromString("rwxr-xr-x"))
            withClue(outcome) { outcome.status shouldBe 0 }
            target.readText() shouldBe "new contents"
            target.getPosixFilePermissions() shouldBe fromString("rw-rw----")
        }

        for (names in 1..2) {
            val end = if (names == 1) "replace a file of one name" else "leave a file of two names as it was"
            test("should $end where the disk has room for the new contents once only") {
                val folder = folder()
                (folder / "from").writeText("new".repeat(600_000))
                val command =
                    """
                    mount -t tmpfs -o size=3m tmpfs "${'$'}4" && cd "${'$'}4" || exit 99
                    yes old | head -c 1000000 > to; cp to ../old
                    [ $names = 1 ] || ln to other
                    "${'$'}0" --enable-native-access=ALL-UNNAMED -cp "${'$'}1" "${'$'}2" file "${'$'}3" to
                    status=${'$'}?
                    ls; [ $names = 1 ] && cmp to "${'$'}3" || cmp to ../old
                    exit ${'$'}status
                    """.trimIndent()
                val java = Path.of(System.getProperty("java.home"), "bin", "java").toString()
                val code = arrayOf(java, System.getProperty("java.class.path"), "org.kverbs.cli.KverbsKt")
                val disk = (folder / "disk").createDirectory()
                if (run("unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "$disk")) { // not in every container
                    val process =
                        ProcessBuilder("unshare", "-rm", "bash", "-c", command, *code, "$folder/from", "$disk")
                            .redirectErrorStream(true)
                            .start()
                    val printed = process.inputReader().readText()
                    withClue(printed) {
                        process.waitFor() shouldBe names - 1
                        if (names == 1) printed shouldContain "checksums agree\nto\n"
                        if (names == 2) printed shouldBe "kverbs: the receiver: No space left on device\nother\nto\n"
                    }
                }
            }
        }

        test("should refuse a hard link to the source itself") {
            val folder = folder()
            (folder / "to").createLinkPointingTo(folder / "from")
            val outcome = copy(folder, "to")
            outcome.status shouldBe 2
            outcome.err shouldContain "it is the same file as FROM"
            (folder / "to").readText() shouldBe "new contents"
        }

        test("should refuse a link that leads nowhere, and make nothing there") {
            val folder = folder()
            val link = (folder / "to").createSymbolicLinkPointingTo(folder / "nowhere")
            val outcome = copy(folder, "to")
            withClue(outcome) {
                outcome.status shouldBe 2
                outcome.err shouldContain "$link is a link to $folder/nowhere, which does not exist"
            }
            link.isSymbolicLink() shouldBe true
            (folder / "nowhere").exists() shouldBe false
        }

        for (oddity in oddities) {
            for (name in listOf("to", "link")) {
                val way = if (name == "link") " behind a link" else ""
                test("should refuse a ${oddity.name}$way and touch nothing") {
                    val folder = folder()
                    if (oddity.make(folder / "to")) {
                        (folder / "link").createSymbolicLinkPointingTo(folder / "to")
                        val before = folder.listDirectoryEntries().sorted().associateWith(::state)
                        val outcome = copy(folder, name)
                        withClue(outcome) {
                            outcome.status shouldBe 2
                            outcome.err shouldContain "$folder/to is no regular file"
                        }
                        folder.listDirectoryEntries().sorted().associateWith(::state) shouldBe before
                    } else {
                        oddity.name shouldBe "device node"
                    }
                }
            }
        }

        test("should refuse to send a FIFO, and not wait for its other end") {
            val folder = folder()
            val fifo = folder / "fifo"
            run("mkfifo", "$fifo") shouldBe true
            shouldThrow<IOException> {
                both(
                    "embedded0",
                    { name, onListening -> fileServer(folder / "to", 0, name, onListening, onFailure = {}) },
                ) { host, port, name ->
                    sendFile(fifo, host, port, name)
                }
            }.message shouldBe "$fifo is no regular file"
            (folder / "to").exists() shouldBe false
        }

        test("should refuse a FIFO and a folder where the name inside the folder TO leads to one") {
            val folder = folder()
            val inside = (folder / "to").createDirectory()
            run("mkfifo", "$inside/from") shouldBe true
            copy(folder, "to").err shouldContain "$inside/from is no regular file"
            inside.listDirectoryEntries().size shouldBe 1
            state(inside / "from").first() shouldNotBe true
        }
    })
