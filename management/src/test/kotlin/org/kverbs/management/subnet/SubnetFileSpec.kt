package org.kverbs.management.subnet

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.ints.shouldBeLessThan
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.structures.Lid
import java.io.ByteArrayInputStream
import java.io.ByteArrayOutputStream
import java.io.IOException
import java.nio.ByteBuffer
import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions
import java.util.concurrent.CompletableFuture
import java.util.concurrent.TimeUnit.SECONDS
import kotlin.random.Random

private const val HEAD = 20
private const val PROBLEMS_AT = 12
private const val EMPTY_PROBLEM = 18

/** `management/fuzz` makes 50 times as many. */
private val files = Integer.getInteger("fuzz.count", 200_000) / 10

private fun bytesOf(subnet: Subnet) = ByteArrayOutputStream().also { subnet.writeTo(it) }.toByteArray()

private fun read(bytes: ByteArray) = readSubnet(ByteArrayInputStream(bytes))

/** Asks for all that a subnet can tell; each answer must come. */
private fun askAll(subnet: Subnet) {
    for (node in subnet.nodes) {
        "$node ${node.path} ${node.switchInfo} ${node.chassisText()} ${node.problems}"
        node.ports.forEach { "$it ${it.lid} ${it.rate} ${it.extended} ${it.link} ${it.problems}" }
        subnet.shortestRoute(subnet.nodes.first(), node)
    }
    subnet.links.forEach { "$it ${it.isSlowerThanPossible} ${it.isAsymmetric}" }
    "${subnet.duplicateLids} ${subnet.duplicateGuids} ${subnet.chassis} ${subnet.port(Lid(1))} ${subnet.here}"
    subnet.changesTo(subnet).isEmpty shouldBe true
}

private fun SubnetNode.chassisText() = subnet.chassis.filter { this in it.nodes }.joinToString { "${it.internalLinks}" }

class SubnetFileSpec :
    FunSpec({
        val folder = tempdir().toPath()

        test("should load the subnet that it saved") {
            val subnet = starSubnet()
            val file = folder.resolve("subnet")
            subnet.save(file)
            val loaded = loadSubnet(file)
            loaded shouldBe subnet
            loaded.problems shouldBe subnet.problems
            loaded.nodes.map { it.path } shouldBe subnet.nodes.map { it.path }
            loaded.links.map { "$it" } shouldBe subnet.links.map { "$it" }
            askAll(loaded)
            file.toFile().parentFile.list()?.toList() shouldBe listOf("subnet")
        }

        test("should be smaller than its ports' attributes") {
            val subnet = starSubnet()
            bytesOf(subnet).size shouldBeLessThan subnet.ports.size * 64
        }

        test("should say what is wrong with a file that is no subnet, too new, too big, or cut off") {
            val good = bytesOf(starSubnet())

            fun wrong(bytes: ByteArray) = shouldThrow<SubnetFileException> { read(bytes) }.message.shouldNotBeNull()
            wrong("a text file of more than twenty bytes".encodeToByteArray()) shouldContain "no saved subnet"
            wrong(good.copyOf().also { it[11] = 9 }) shouldContain "version 9"
            wrong(good.copyOf().also { it[12] = 0x7f }) shouldContain "at most"
            wrong(good.copyOf().also { it[17] = (it[17] + 1).toByte() }) shouldContain "checksum"
            wrong(good.copyOf(good.size - 30)) shouldContain "not written completely"
            wrong(ByteArray(0)) shouldContain "not written completely"
            val limited = shouldThrow<SubnetFileException> { readSubnet(ByteArrayInputStream(good), 100) }
            limited.message.shouldNotBeNull() shouldContain "at most 100"
        }

        test("should refuse each file in which one byte is another") {
            val good = bytesOf(starSubnet())
            for (index in good.indices) {
                val damaged = good.copyOf().also { it[index] = (it[index] + 1).toByte() }
                withClue(index) { shouldThrow<SubnetFileException> { read(damaged) } }
            }
        }

        test("should refuse arrays that do not fit together, or answer all questions of what fits") {
            val subnet = starSubnet()
            val good = SubnetBody.bytes(subnet.data)
            val random = Random(5)
            var refused = 0
            repeat(files) {
                val body = good.copyOf(if (random.nextInt(10) == 0) random.nextInt(good.size + 50) else good.size)
                repeat(random.nextInt(1, 4)) {
                    // The counts and the small arrays behind them are where most damage is done.
                    val at = if (random.nextBoolean()) random.nextInt(HEAD) else random.nextInt(good.size)
                    if (at <
                        body.size
                    ) {
                        body[at] =
                            if (random.nextBoolean()) random.nextInt().toByte() else (body[at] + 1).toByte()
                    }
                }
                try {
                    askAll(Subnet(SubnetBody.data(body)))
                } catch (_: SubnetFileException) {
                    refused++
                }
            }
            refused shouldBeGreaterThan 1000
            refused shouldBeLessThan files
        }

        test("should take no memory for a length that is not there") {
            val bomb = bytesOf(starSubnet()).copyOf()
            // 200 MB are announced, and a few bytes follow.
            byteArrayOf(12, 0, 0, 0).copyInto(bomb, 12)
            shouldThrow<SubnetFileException> { read(bomb) }
        }

        test("should refuse more problems than a discovery keeps: each costs several times its bytes") {
            val good = SubnetBody.bytes(starSubnet().data)
            val further = 20_000
            val bomb = good.copyOf(good.size + further * EMPTY_PROBLEM)
            ByteBuffer.wrap(bomb).apply { putInt(PROBLEMS_AT, getInt(PROBLEMS_AT) + further) }
            val refusal = shouldThrow<SubnetFileException> { SubnetBody.data(bomb) }
            refusal.message.shouldNotBeNull() shouldContain "problems"
        }

        test("should leave a folder and a link as they are when it saves") {
            val folder = tempdir().toPath()
            val inner = Files.createDirectory(folder.resolve("inner"))
            shouldThrow<IOException> { starSubnet().save(inner) }
            Files.isDirectory(inner) shouldBe true

            val target = Files.writeString(folder.resolve("target"), "old")
            val link = Files.createSymbolicLink(folder.resolve("link"), target)
            starSubnet().save(link)
            Files.isSymbolicLink(link) shouldBe true
            loadSubnet(target).nodes.size shouldBe starSubnet().nodes.size

            val missing = folder.resolve("missing")
            val ahead = Files.createSymbolicLink(folder.resolve("ahead"), missing)
            starSubnet().save(ahead)
            Files.isSymbolicLink(ahead) shouldBe true
            loadSubnet(missing).nodes.size shouldBe starSubnet().nodes.size
        }

        test("should save with the mode of other new files, and keep that of a file that is there") {
            val folder = tempdir().toPath()
            val usual = Files.getPosixFilePermissions(Files.createFile(folder.resolve("usual")))
            val file = folder.resolve("subnet")
            starSubnet().save(file)
            Files.getPosixFilePermissions(file) shouldBe usual
            Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-r--"))
            starSubnet().save(file)
            Files.getPosixFilePermissions(file) shouldBe PosixFilePermissions.fromString("rw-rw-r--")
            Files.list(folder).use { it.count() } shouldBe 2
        }

        test("should write to a pipe when it saves, and leave the pipe") {
            val pipe = tempdir().toPath().resolve("pipe")
            ProcessBuilder("mkfifo", "$pipe").start().waitFor() shouldBe 0
            val read = CompletableFuture.supplyAsync { Files.newInputStream(pipe).use { readSubnet(it) } }
            starSubnet().save(pipe)
            read.get(10, SECONDS).nodes.size shouldBe starSubnet().nodes.size
            Files.isRegularFile(pipe) shouldBe false
        }
    })
