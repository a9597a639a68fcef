package org.kverbs.embedded.wire

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.longs.shouldBeGreaterThanOrEqual
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.types.shouldBeSameInstanceAs
import org.kverbs.embedded.internal.wire.Packet
import org.kverbs.embedded.internal.wire.PacketPool
import org.kverbs.embedded.internal.wire.PacketSink

class PacketPoolSpec :
    FunSpec({
        test("should give out its maximum, buffers that do not overlap, and then none") {
            val pool = PacketPool(70)
            val packets = List(70) { pool.take().shouldNotBeNull() }
            pool.take().shouldBeNull()
            pool.outstanding() shouldBe 70
            packets.map { it.buffer }.sorted().zipWithNext { a, b ->
                (b - a) shouldBeGreaterThanOrEqual
                    Packet.BUFFER_SIZE.toLong()
            }
        }

        test("should reuse a packet that was given back, without its sink") {
            val pool = PacketPool(1)
            val packet = pool.take().shouldNotBeNull()
            packet.sink = PacketSink { }
            packet.psnCount = 9
            pool.give(packet)
            pool.outstanding() shouldBe 0
            pool.take() shouldBeSameInstanceAs packet
            packet.sink.shouldBeNull()
            packet.psnCount shouldBe 1
        }

        test("should refuse a packet when none is out") {
            val pool = PacketPool(40)
            val packet = pool.take().shouldNotBeNull()
            pool.give(packet)
            shouldThrow<IllegalStateException> { pool.give(packet) }.message shouldContain "twice"
        }

        test("should refuse a maximum of zero") {
            shouldThrow<IllegalArgumentException> { PacketPool(0) }.message shouldContain "0 packets"
        }
    })
