package org.kverbs.embedded.wire

import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempfile
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.shouldBe
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.Mtu
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.embedded.XrcPair
import org.kverbs.embedded.internal.wire.Opcode

/** Checks the packets of an extended reliable connection as tshark reads them. */
class XrcCaptureSpec :
    FunSpec({
        test("should be packets of XRC to tshark").config(enabledOrReasonIf = Tshark::presentOrSkipped) {
            Tshark.require()
            val file = tempfile(suffix = ".pcap")
            val small = ConnectOptions.builder().pathMtu(Mtu.MTU_1024).build()
            XrcPair(EmbeddedFabric.virtual(1), small).use { pair ->
                repeat(2) { pair.srq.postReceive(it.toLong(), pair.mr.slice()) }
                pair.fabric.capture(file.toPath()).use {
                    pair.a.post {
                        send(1).from(pair.a.mr.slice(0, 3000)).toSharedReceiveQueue(pair.number).signaled()
                        writeWithImmediate(2, pair.mr.remote(), 7)
                            .from(pair.a.mr.slice(0, 100))
                            .toSharedReceiveQueue(pair.number)
                            .signaled()
                        read(3, pair.mr.remote())
                            .into(pair.a.mr.slice(0, 1500))
                            .toSharedReceiveQueue(pair.number)
                            .signaled()
                        fetchAndAdd(4, pair.mr.remote(), 1)
                            .into(pair.a.mr.slice(0, 8))
                            .toSharedReceiveQueue(pair.number)
                            .signaled()
                    }
                    pair.a.take(4).all { it.isSuccess } shouldBe true
                }
            }
            Tshark.complaints(file.path).shouldBeEmpty()
            val opcodes = Tshark.fields(file.path, "infiniband.bth.opcode").map { it.toInt() }
            opcodes.filter { Opcode.isRequest(it) } shouldBe listOf(0xa0, 0xa1, 0xa2, 0xab, 0xac, 0xb4)
            opcodes.filterNot { Opcode.isRequest(it) }.filter { it != 0xb1 } shouldBe listOf(0xad, 0xaf, 0xb2)
            val numbers = PcapFile.read(file.readBytes()).filter { Opcode.hasXrcEth(it.udpPayload[0].toInt() and 0xff) }
            numbers.size shouldBe 6
            PcapFile.read(file.readBytes()).all { fits(it, Buffer().put(it.udpPayload)) } shouldBe true
        }
    })
