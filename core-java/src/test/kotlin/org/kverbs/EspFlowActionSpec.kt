package org.kverbs

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import org.kverbs.NullVerbs.Kind.ACTION
import org.kverbs.NullVerbs.Kind.FLOW
import org.kverbs.NullVerbs.onNullDevice
import org.kverbs.attributes.AesGcmKey
import org.kverbs.attributes.EspAttributes
import org.kverbs.attributes.EspMatch
import org.kverbs.attributes.Feature
import org.kverbs.attributes.QueuePairType.RAW_PACKET

private val secret = ByteArray(32) { (0xa0 + it).toByte() }
private val key = AesGcmKey.of(secret, byteArrayOf(1, 2, 3, 4))

/** Checks what C reads of the actions that decrypt and encrypt, and their lives. */
class EspFlowActionSpec :
    FunSpec({
        onNullDevice()

        test("should write an action as C reads it") {
            NullBench().use { bench ->
                bench.context.espFlowAction(EspAttributes.decrypting(key))
                NullVerbs.offload() shouldBe
                    "flags=0 spi=0 seq=0 pad=0 limit=0; iv=0 algo=0 salt=01020304 icv=16 key=a0..bf/32"
                val short =
                    AesGcmKey
                        .of(
                            ByteArray(16) { 9 },
                            ByteArray(4),
                        ).withIcvLength(8)
                        .startingAt(0x1122334455667788)
                val offload =
                    EspAttributes
                        .encrypting(short)
                        .inTransportMode()
                        .fullOffload(0x1234, -1)
                        .withLimits(3, 1L shl 40, 64)
                        .withEsn(-2, false)
                bench.context.espFlowAction(offload)
                NullVerbs.offload() shouldBe
                    "flags=7 spi=1234 seq=ffffffff pad=3 limit=1099511627776; " +
                    "iv=1122334455667788 algo=0 salt=00000000 icv=8 key=09..09/16; replay=64/4; esn=fffffffe"
            }
        }

        test("should change an action, and keep the former parameters if the device refuses") {
            NullBench().use { bench ->
                val first = EspAttributes.decrypting(key).withEsn(1, false)
                val action = bench.context.espFlowAction(first)
                action.modify(EspAttributes.decrypting(key).withEsn(1, true))
                NullVerbs.offload() shouldContain "flags=8"
                action.attributes().isInNewWindow shouldBe true
                NullVerbs.set(NullVerbs.Option.LACKS, 22)
                shouldThrow<RdmaSystemException> { action.modify(first) }.operation() shouldBe
                    "ibv_modify_flow_action_esp"
                action.attributes().isInNewWindow shouldBe true
            }
        }

        test("should give an action and a match of ESP to a rule, and close the rule before the action") {
            NullBench().use { bench ->
                val action = bench.context.espFlowAction(EspAttributes.decrypting(key))
                val rule =
                    FlowAttributes
                        .builder()
                        .match(EspMatch().spi(0x01020304))
                        .match(EspMatch().inner().sequence(-1))
                        .action(action)
                        .build()
                val flow = bench.queuePair(RAW_PACKET).flow(rule)
                NullVerbs.flow().split("; ").drop(1) shouldBe
                    listOf(
                        "0x34 size=24 spi=1020304/ffffffff seq=0/0",
                        "0x134 size=24 spi=0/0 seq=ffffffff/ffffffff",
                        "0x1002 size=16 an action",
                        "0 bytes left",
                    )
                action.close()
                flow.isOpen shouldBe false
                NullVerbs.live(FLOW) shouldBe 0
                NullVerbs.live(ACTION) shouldBe 0
                shouldThrow<IllegalStateException> { bench.queuePair(RAW_PACKET).flow(rule) }
                NullVerbs.open().use { elsewhere ->
                    val other = elsewhere.espFlowAction(EspAttributes.decrypting(key))
                    shouldThrow<IllegalArgumentException> {
                        bench.queuePair(RAW_PACKET).flow(FlowAttributes.builder().action(other).build())
                    }.message shouldContain "another open device"
                }
            }
        }

        test("should have no text with a key") {
            NullBench().use { bench ->
                val attributes = EspAttributes.encrypting(key).fullOffload(7, 0)
                val action = bench.context.espFlowAction(attributes)
                val rule = FlowAttributes.builder().action(action).build()
                NullVerbs.set(NullVerbs.Option.LACKS, 22)
                val refusal = shouldThrow<RdmaSystemException> { bench.context.espFlowAction(attributes) }
                for (text in listOf(
                    "$key",
                    "$attributes",
                    "$rule",
                    "$action",
                    action.describe(),
                    "${refusal.message}",
                )) {
                    text.lowercase() shouldNotContain "a0a1"
                    text shouldNotContain "-96"
                    text shouldNotContain secret.contentToString()
                }
                "$attributes" shouldBe "encrypt, AES-GCM(256 bits, icv=16), tunnel, full offload, spi=0x7"
            }
        }

        test("should copy keys, and refuse wrong lengths and fields that do not count") {
            val bytes = ByteArray(16)
            val copied = AesGcmKey.of(bytes, ByteArray(4))
            bytes.fill(1)
            copied.key().fill(2)
            copied.key() shouldBe ByteArray(16)
            for (length in listOf(0, 15, 33)) {
                shouldThrow<IllegalArgumentException> { AesGcmKey.of(ByteArray(length), ByteArray(4)) }
            }
            shouldThrow<IllegalArgumentException> { AesGcmKey.of(bytes, ByteArray(3)) }
            shouldThrow<IllegalArgumentException> { key.withIcvLength(10) }
            shouldThrow<IllegalArgumentException> { EspAttributes.decrypting(key).withLimits(0, 0, 64) }
            shouldThrow<IllegalArgumentException> { EspAttributes.decrypting(key).fullOffload(1, 1).withEsn(1, true) }
        }

        test("should be refused without the driver's calls") {
            NullBench(extended = false).use { bench ->
                bench.context.supports(Feature.ESP_FLOW_ACTION) shouldBe false
                val refusal =
                    shouldThrow<UnsupportedVerbException> { bench.context.espFlowAction(EspAttributes.decrypting(key)) }
                refusal.operation() shouldBe "ibv_create_flow_action_esp"
                refusal.advice() shouldContain Feature.ESP_FLOW_ACTION.needs()
            }
        }
    })
