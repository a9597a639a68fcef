package org.kverbs.internal

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.property.Arb
import io.kotest.property.arbitrary.byte
import io.kotest.property.arbitrary.byteArray
import io.kotest.property.arbitrary.int
import io.kotest.property.arbitrary.list
import io.kotest.property.checkAll
import org.kverbs.internal.memory.Memory
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.nio.channels.FileChannel
import java.nio.file.Files
import java.nio.file.StandardOpenOption.READ
import java.nio.file.StandardOpenOption.WRITE

class InlineAreaSpec :
    FunSpec({
        fun bytesAt(
            address: Long,
            length: Int,
        ) = Memory.at(address, length.toLong()).toArray(JAVA_BYTE)

        test("should keep all bytes where it said, until it is cleared, however much it had to grow") {
            val area = InlineArea() // one area for all rounds, since a clear empties it
            checkAll(200, Arb.list(Arb.byteArray(Arb.int(0..700), Arb.byte()), 1..40)) { arrays ->
                area.clear()
                val addresses = arrays.map { area.copy(it) }
                addresses.zip(arrays).forEachIndexed { index, (address, bytes) ->
                    withClue("array $index of ${bytes.size} bytes") {
                        bytesAt(address, bytes.size).toList() shouldBe
                            bytes.toList()
                    }
                }
            }
        }

        test("should take more bytes at once than it has") {
            val area = InlineArea()
            val first = area.copy(ByteArray(1000) { 1 })
            val large = area.copy(ByteArray(100_000) { 2 })
            bytesAt(first, 1000).all { it == 1.toByte() } shouldBe true
            bytesAt(large, 100_000).all { it == 2.toByte() } shouldBe true
        }

        test("should use the same memory again after a clear") {
            val area = InlineArea()
            val first = area.copy(ByteArray(10))
            area.clear()
            area.copy(ByteArray(20)) shouldBe first
        }

        test("should throw the error of a mapping whose file was cut at the copy, also when the copy is compiled") {
            val area = InlineArea()
            val path = Files.createTempFile("kverbs-", ".mapped")
            var hasReturned = false

            fun copy(from: MemorySegment) {
                hasReturned = false
                area.clear()
                area.copy(from, 0, 8)
                hasReturned = true
            }
            FileChannel.open(path, READ, WRITE).use { file ->
                Arena.ofShared().use { arena ->
                    val mapped = file.map(FileChannel.MapMode.READ_WRITE, 0, 4096, arena)
                    repeat(200_000) { copy(mapped) }
                    file.truncate(0)
                    shouldThrow<InternalError> {
                        copy(mapped)
                        Runtime.getRuntime().maxMemory() // a late error comes here at the latest
                    }
                    hasReturned shouldBe false
                }
            }
            Files.delete(path)
        }
    })
