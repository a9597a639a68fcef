package org.kverbs.ibtool.fabric

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.ibtool.Outcome
import java.nio.file.Files
import java.nio.file.LinkOption.NOFOLLOW_LINKS
import kotlin.io.path.createSymbolicLinkPointingTo
import kotlin.io.path.exists
import kotlin.io.path.readBytes
import kotlin.io.path.readText
import kotlin.io.path.writeBytes
import kotlin.io.path.writeText

/** `--cache` and `--refresh-cache`. */
class CacheSpec :
    FunSpec({
        val folder = tempdir().toPath()

        /** A switch with this number of hosts. The first host and the switch are the same in all. */
        fun net(count: Int): String {
            val ports = (1..count).joinToString("") { "[$it] \"H-$it\"[1]\n" }
            val hosts = (1..count).joinToString("\n") { "Ca 1 \"H-$it\"\n[1] \"S-1\"[$it]\n" }
            return "${folder.resolve("net").also { it.writeText("Switch 8 \"S-1\"\n$ports\n$hosts") }}"
        }

        fun hosts(
            count: Int,
            vararg options: String,
        ) = Outcome("ibhosts", "--fabric", net(count), *options).also { withClue("$it") { it.status shouldBe 0 } }

        test("should write the topology if the file is not there, and take it then, until it is refreshed") {
            val file = folder.resolve("cache")
            val two = hosts(2, "--cache", "$file")
            file.exists() shouldBe true
            // The fabric has other hosts by now, which only a new discovery shows.
            "${hosts(6, "--cache", "$file").out}" shouldBe "${two.out}"
            val six = hosts(6, "--cache", "$file", "--refresh-cache")
            six.out.lines().size shouldBe 7
            "${hosts(2, "--cache", "$file").out}" shouldBe "${six.out}"
        }

        test("should say that a file is damaged, and leave it until it is refreshed") {
            val file = folder.resolve("damaged")
            hosts(2, "--cache", "$file")
            val bytes = file.readBytes()
            bytes[bytes.size / 2] = (bytes[bytes.size / 2] + 1).toByte()
            file.writeBytes(bytes)
            val outcome = Outcome("ibhosts", "--fabric", net(2), "--cache", "$file")
            outcome.status shouldBe 255
            "${outcome.err}" shouldContain "ibhosts: --cache $file: the subnet "
            "${outcome.err}" shouldContain "; --refresh-cache writes it anew\n"
            file.readBytes() shouldBe bytes
            hosts(2, "--cache", "$file", "--refresh-cache")
            hosts(2, "--cache", "$file")
        }

        test("should not write through a link, nor put a file in the place of a device") {
            val precious = folder.resolve("precious").also { it.writeText("mine") }
            val link = folder.resolve("link").createSymbolicLinkPointingTo(precious)
            for (path in listOf("$link", "/dev/null")) {
                for (command in listOf("ibhosts", "ibnetdiscover")) {
                    val outcome =
                        Outcome(
                            command,
                            "--fabric",
                            "hosts:2",
                            "--cache",
                            path,
                            "--refresh-cache".takeIf { command == "ibhosts" } ?: "-l",
                        )
                    outcome.status shouldBe 255
                    "${outcome.err}" shouldContain "$command: --cache $path is a"
                }
            }
            precious.readText() shouldBe "mine"
            Files.isRegularFile(java.nio.file.Path.of("/dev/null"), NOFOLLOW_LINKS) shouldBe false
        }

        test("should say that there is no file to load") {
            val outcome = Outcome("ibhosts", "--fabric", "hosts:2", "--load-cache", "$folder/none")
            outcome.status shouldBe 255
            "${outcome.err}" shouldBe
                "ibhosts: loading cached fabric failed: $folder/none: there is no such file or folder\n"
        }
    })
