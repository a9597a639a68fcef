package org.kverbs.attributes

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainExactlyInAnyOrder
import io.kotest.matchers.shouldBe
import io.kotest.matchers.shouldNotBe
import io.kotest.matchers.string.shouldContain
import io.kotest.property.Arb
import io.kotest.property.arbitrary.int
import io.kotest.property.checkAll
import org.kverbs.internal.abi.IbvQpAttr
import org.kverbs.internal.abi.IbvQpState
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.lang.foreign.ValueLayout.JAVA_INT
import java.time.Duration
import java.util.EnumSet

private val peer = AddressAttributes.toGid(Gid.parse("::ffff:10.98.0.2"), 1, 1)
private val otherPeer = AddressAttributes.toLid(77, 2)
private val sizes = QueuePairCapabilities(10, 20, 3, 4, 96)

private fun memory(fill: Long = 0) = MemorySegment.ofArray(LongArray(IbvQpAttr.SIZE / Long.SIZE_BYTES) { fill })

/** Sets one attribute to a value that none of the others has. */
private fun QueuePairAttributesBuilder.set(attribute: QueuePairAttribute): QueuePairAttributesBuilder =
    when (attribute) {
        QueuePairAttribute.STATE -> state(QueuePairState.RTS)
        QueuePairAttribute.CUR_STATE -> currentState(QueuePairState.SQD)
        QueuePairAttribute.EN_SQD_ASYNC_NOTIFY -> sqDrainedNotify(true)
        QueuePairAttribute.ACCESS_FLAGS -> accessFlags(AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE)
        QueuePairAttribute.PKEY_INDEX -> pkeyIndex(0xfffe)
        QueuePairAttribute.PORT -> port(255)
        QueuePairAttribute.QKEY -> qkey(0x80010000.toInt())
        QueuePairAttribute.AV -> address(peer)
        QueuePairAttribute.PATH_MTU -> pathMtu(Mtu.MTU_2048)
        QueuePairAttribute.TIMEOUT -> timeout(14)
        QueuePairAttribute.RETRY_CNT -> retryCount(7)
        QueuePairAttribute.RNR_RETRY -> rnrRetry(6)
        QueuePairAttribute.RQ_PSN -> rqPsn(0xffffff)
        QueuePairAttribute.MAX_QP_RD_ATOMIC -> maxReadAtomic(16)
        QueuePairAttribute.ALT_PATH -> alternatePath(otherPeer, 0xabcd, 2, 19)
        QueuePairAttribute.MIN_RNR_TIMER -> minRnrTimer(12)
        QueuePairAttribute.SQ_PSN -> sqPsn(0x123456)
        QueuePairAttribute.MAX_DEST_RD_ATOMIC -> maxDestReadAtomic(128)
        QueuePairAttribute.PATH_MIG_STATE -> migrationState(MigrationState.ARMED)
        QueuePairAttribute.CAP -> cap(sizes)
        QueuePairAttribute.DEST_QPN -> destQpn(0xabcdef)
        QueuePairAttribute.RATE_LIMIT -> rateLimit(0xfffffffeL)
    }

/** The results of the getters of one attribute. */
private fun QueuePairAttributes.get(attribute: QueuePairAttribute): Any =
    when (attribute) {
        QueuePairAttribute.STATE -> {
            listOf(state(), rawState(), isSqDraining)
        }

        QueuePairAttribute.CUR_STATE -> {
            listOf(currentState(), rawCurrentState())
        }

        QueuePairAttribute.EN_SQD_ASYNC_NOTIFY -> {
            isSqDrainedNotify
        }

        QueuePairAttribute.ACCESS_FLAGS -> {
            listOf(accessFlags(), rawAccessFlags())
        }

        QueuePairAttribute.PKEY_INDEX -> {
            pkeyIndex()
        }

        QueuePairAttribute.PORT -> {
            port()
        }

        QueuePairAttribute.QKEY -> {
            qkey()
        }

        QueuePairAttribute.AV -> {
            address()
        }

        QueuePairAttribute.PATH_MTU -> {
            listOf(pathMtu(), rawPathMtu())
        }

        QueuePairAttribute.TIMEOUT -> {
            timeout()
        }

        QueuePairAttribute.RETRY_CNT -> {
            retryCount()
        }

        QueuePairAttribute.RNR_RETRY -> {
            rnrRetry()
        }

        QueuePairAttribute.RQ_PSN -> {
            rqPsn()
        }

        QueuePairAttribute.MAX_QP_RD_ATOMIC -> {
            maxReadAtomic()
        }

        QueuePairAttribute.ALT_PATH -> {
            listOf(
                alternatePath(),
                alternatePkeyIndex(),
                alternatePort(),
                alternateTimeout(),
            )
        }

        QueuePairAttribute.MIN_RNR_TIMER -> {
            minRnrTimer()
        }

        QueuePairAttribute.SQ_PSN -> {
            sqPsn()
        }

        QueuePairAttribute.MAX_DEST_RD_ATOMIC -> {
            maxDestReadAtomic()
        }

        QueuePairAttribute.PATH_MIG_STATE -> {
            listOf(migrationState(), rawMigrationState())
        }

        QueuePairAttribute.CAP -> {
            cap()
        }

        QueuePairAttribute.DEST_QPN -> {
            destQpn()
        }

        QueuePairAttribute.RATE_LIMIT -> {
            rateLimit()
        }
    }

private val expected =
    mapOf(
        QueuePairAttribute.STATE to listOf(QueuePairState.RTS, 3, false),
        QueuePairAttribute.CUR_STATE to listOf(QueuePairState.SQD, 4),
        QueuePairAttribute.EN_SQD_ASYNC_NOTIFY to true,
        QueuePairAttribute.ACCESS_FLAGS to listOf(EnumSet.of(AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE), 6),
        QueuePairAttribute.PKEY_INDEX to 0xfffe,
        QueuePairAttribute.PORT to 255,
        QueuePairAttribute.QKEY to 0x80010000.toInt(),
        QueuePairAttribute.AV to peer,
        QueuePairAttribute.PATH_MTU to listOf(Mtu.MTU_2048, 4),
        QueuePairAttribute.TIMEOUT to 14,
        QueuePairAttribute.RETRY_CNT to 7,
        QueuePairAttribute.RNR_RETRY to 6,
        QueuePairAttribute.RQ_PSN to 0xffffff,
        QueuePairAttribute.MAX_QP_RD_ATOMIC to 16,
        QueuePairAttribute.ALT_PATH to listOf(otherPeer, 0xabcd, 2, 19),
        QueuePairAttribute.MIN_RNR_TIMER to 12,
        QueuePairAttribute.SQ_PSN to 0x123456,
        QueuePairAttribute.MAX_DEST_RD_ATOMIC to 128,
        QueuePairAttribute.PATH_MIG_STATE to listOf(MigrationState.ARMED, 2),
        QueuePairAttribute.CAP to sizes,
        QueuePairAttribute.DEST_QPN to 0xabcdef,
        QueuePairAttribute.RATE_LIMIT to 0xfffffffeL,
    )

private fun setOf(attributes: Collection<QueuePairAttribute>) =
    attributes.fold(QueuePairAttributes.builder()) { builder, it -> builder.set(it) }.build()

class QueuePairAttributesSpec :
    FunSpec({
        test("should hold exactly what was set, in the object and in the C structure") {
            checkAll(500, Arb.int(0 until (1 shl QueuePairAttribute.entries.size))) { bits ->
                val chosen = QueuePairAttribute.entries.filter { bits shr it.ordinal and 1 == 1 }.toSet()
                val memory = memory(fill = -1)
                setOf(chosen).writeTo(memory)
                val read = QueuePairAttributes.from(memory, QueuePairAttribute.mask(chosen))
                for (set in listOf(setOf(chosen), read)) {
                    set.attributes() shouldContainExactlyInAnyOrder chosen
                    set.mask() shouldBe QueuePairAttribute.mask(chosen)
                    chosen.forEach { withClue(it) { set.get(it) shouldBe expected[it] } }
                    for (missing in QueuePairAttribute.entries - chosen) {
                        shouldThrow<IllegalStateException> { set.get(missing) }.message shouldContain
                            "$missing is not in this set"
                    }
                }
                read shouldBe setOf(chosen)
                read.hashCode() shouldBe setOf(chosen).hashCode()
            }
        }

        test("should write each attribute where C has it") {
            for (attribute in QueuePairAttribute.entries) {
                val memory = memory()
                setOf(listOf(attribute)).writeTo(memory)
                val written = memory.toArray(JAVA_BYTE).withIndex().filter { it.value.toInt() != 0 }
                val fields = QueuePairFields.of(attribute).toList().chunked(2)
                withClue(attribute) {
                    written
                        .filter { byte ->
                            fields.none { (offset, size) ->
                                byte.index in offset until offset + size
                            }
                        }.shouldBeEmpty()
                    written.isEmpty() shouldBe false
                }
            }
            val memory = memory()
            setOf(QueuePairAttribute.entries).writeTo(memory)
            memory.get(JAVA_INT, IbvQpAttr.QP_STATE.toLong()) shouldBe IbvQpState.IBV_QPS_RTS
            memory.get(JAVA_INT, IbvQpAttr.DEST_QP_NUM.toLong()) shouldBe 0xabcdef
            memory.get(JAVA_INT, IbvQpAttr.CAP_MAX_INLINE_DATA.toLong()) shouldBe 96
            memory.get(JAVA_BYTE, IbvQpAttr.AH_ATTR_GRH_HOP_LIMIT.toLong()) shouldBe 64
            memory.get(JAVA_BYTE, IbvQpAttr.ALT_AH_ATTR_DLID.toLong()) shouldBe 77
            memory.get(JAVA_BYTE, IbvQpAttr.RNR_RETRY.toLong()) shouldBe 6
        }

        test("should ignore what a query answered beyond the mask") {
            val set = QueuePairAttributes.from(memory(fill = -1), QueuePairAttribute.PORT.bit())
            set shouldBe
                QueuePairAttributes
                    .builder()
                    .port(255)
                    .build()
            QueuePairAttributes.from(memory(fill = -1), 1 shl 30).attributes().shouldBeEmpty()
        }

        test("should read whatever a device answers, with UNKNOWN beside the number") {
            val set = QueuePairAttributes.from(memory(fill = 0x7f7f7f7f7f7f7f7fL), -1)
            set.attributes() shouldBe EnumSet.allOf(QueuePairAttribute::class.java)
            set.state() shouldBe QueuePairState.UNKNOWN
            set.rawState() shouldBe 0x7f7f7f7f
            set.isSqDraining shouldBe true
            set.pathMtu() shouldBe Mtu.UNKNOWN
            set.migrationState() shouldBe MigrationState.UNKNOWN
            set.toString() shouldContain "PATH_MTU=UNKNOWN(2139062143)"
            QueuePairAttributes.from(memory(fill = -1), -1).cap().maxSendWr() shouldBe Int.MAX_VALUE
        }

        test("should name what it has and what to do when asked for an attribute that it has not") {
            shouldThrow<IllegalStateException> { setOf(listOf(QueuePairAttribute.STATE)).pathMtu() }.message shouldBe
                "queue pair attribute PATH_MTU is not in this set, which has [STATE]: set it, or ask for it in the " +
                "query"
        }

        test("should keep what it was built with when the builder is used on") {
            val builder = QueuePairAttributes.builder().state(QueuePairState.INIT)
            val first = builder.build()
            val second = builder.state(QueuePairState.RTR).destQpn(5).build()
            first.state() shouldBe QueuePairState.INIT
            first.attributes() shouldBe EnumSet.of(QueuePairAttribute.STATE)
            second.state() shouldBe QueuePairState.RTR
            first shouldNotBe second
            first.attributes().clear()
            first.mask() shouldBe QueuePairAttribute.STATE.bit()
        }

        test("should set timers by the time they take") {
            val set =
                QueuePairAttributes
                    .builder()
                    .timeout(Duration.ofMillis(67))
                    .minRnrTimer(Duration.ofNanos(640_000))
                    .build()
            set.timeout() shouldBe 14
            set.minRnrTimer() shouldBe 12
        }

        test("should name the attribute, the value and the range of what is out of its range") {
            fun builder() = QueuePairAttributes.builder()
            val wrong =
                mapOf<String, () -> Any>(
                    "PKEY_INDEX 65536 is out of range: 0 to 65535" to { builder().pkeyIndex(65536) },
                    "PORT 0 is out of range: 1 to 255" to { builder().port(0) },
                    "TIMEOUT 32 is out of range: 0 to 31" to { builder().timeout(32) },
                    "RETRY_CNT 8 is out of range: 0 to 7" to { builder().retryCount(8) },
                    "RNR_RETRY -1 is out of range: 0 to 7" to { builder().rnrRetry(-1) },
                    "RQ_PSN 16777216 is out of range: 0 to 16777215" to { builder().rqPsn(1 shl 24) },
                    "SQ_PSN -1 is out of range: 0 to 16777215" to { builder().sqPsn(-1) },
                    "DEST_QPN 16777216 is out of range: 0 to 16777215" to { builder().destQpn(1 shl 24) },
                    "MAX_QP_RD_ATOMIC 256 is out of range: 0 to 255" to { builder().maxReadAtomic(256) },
                    "MAX_DEST_RD_ATOMIC -1 is out of range: 0 to 255" to { builder().maxDestReadAtomic(-1) },
                    "MIN_RNR_TIMER 32 is out of range: 0 to 31" to { builder().minRnrTimer(32) },
                    "RATE_LIMIT 4294967296 is out of range: 0 to 4294967295" to { builder().rateLimit(1L shl 32) },
                    "ALT_PATH port 0 is out of range: 1 to 255" to { builder().alternatePath(peer, 0, 0, 0) },
                    "ALT_PATH P_Key index -1 is out of range: 0 to 65535" to {
                        builder().alternatePath(
                            peer,
                            -1,
                            1,
                            0,
                        )
                    },
                    "ALT_PATH timeout 32 is out of range: 0 to 31" to { builder().alternatePath(peer, 0, 1, 32) },
                    "STATE UNKNOWN cannot be asked for: name a known value" to
                        { builder().state(QueuePairState.UNKNOWN) },
                    "PATH_MTU UNKNOWN cannot be asked for: name a known value" to { builder().pathMtu(Mtu.UNKNOWN) },
                    "max send work requests -1 is out of range: 0 to 2147483647" to
                        { QueuePairCapabilities(-1, 0, 0, 0, 0) },
                )
            wrong.forEach { (message, call) ->
                shouldThrow<IllegalArgumentException> { call() }.message shouldBe message
            }
        }

        test("should print what it holds") {
            QueuePairAttributes
                .builder()
                .state(QueuePairState.INIT)
                .qkey(0x11111111)
                .accessFlags(AccessFlag.REMOTE_WRITE)
                .port(1)
                .build()
                .toString() shouldBe "{STATE=INIT, ACCESS_FLAGS=[REMOTE_WRITE], PORT=1, QKEY=0x11111111}"
        }
    })
