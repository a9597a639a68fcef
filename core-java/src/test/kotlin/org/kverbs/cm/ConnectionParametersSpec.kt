package org.kverbs.cm

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.internal.abi.RdmaConnParam
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.lang.foreign.ValueLayout.JAVA_INT
import java.lang.foreign.ValueLayout.JAVA_LONG

class ConnectionParametersSpec :
    FunSpec({
        test("should write every part into the C structure") {
            val parameters = ConnectionParameters(byteArrayOf(5, 6), 3, 4, true, 6, 7)
            Arena.ofConfined().use { arena ->
                val made = parameters.allocate(arena, 0x123456, true)
                val data =
                    MemorySegment
                        .ofAddress(
                            made.get(JAVA_LONG, RdmaConnParam.PRIVATE_DATA.toLong()),
                        ).reinterpret(2)
                data.toArray(JAVA_BYTE).toList() shouldBe listOf<Byte>(5, 6)

                fun byte(offset: Int) = made.get(JAVA_BYTE, offset.toLong()).toInt()
                byte(RdmaConnParam.PRIVATE_DATA_LEN) shouldBe 2
                byte(RdmaConnParam.RESPONDER_RESOURCES) shouldBe 3
                byte(RdmaConnParam.INITIATOR_DEPTH) shouldBe 4
                byte(RdmaConnParam.FLOW_CONTROL) shouldBe 1
                byte(RdmaConnParam.RETRY_COUNT) shouldBe 6
                byte(RdmaConnParam.RNR_RETRY_COUNT) shouldBe 7
                byte(RdmaConnParam.SRQ) shouldBe 1
                made.get(JAVA_INT, RdmaConnParam.QP_NUM.toLong()) shouldBe 0x123456
            }
        }

        test("should not change with the array it was made from, nor with the one it gave away") {
            val given = byteArrayOf(1)
            val parameters = ConnectionParameters.DEFAULTS.withPrivateData(given)
            given[0] = 2
            parameters.privateData()[0] = 3
            parameters.privateData()[0] shouldBe 1
            parameters shouldBe ConnectionParameters.DEFAULTS.withPrivateData(byteArrayOf(1))
            parameters.hashCode() shouldBe ConnectionParameters.DEFAULTS.withPrivateData(byteArrayOf(1)).hashCode()
            (parameters == ConnectionParameters.DEFAULTS) shouldBe false
        }

        test("should change one part and keep the others") {
            val changed = ConnectionParameters.DEFAULTS.withReads(1, 2).withRetries(3, 4)
            changed.toString() shouldBe
                "ConnectionParameters[privateData=, responderResources=1, initiatorDepth=2, flowControl=true, " +
                "retryCount=3, rnrRetryCount=4]"
        }

        listOf(
            "length of private data 256 is out of range: 0 to 255" to
                { ConnectionParameters.DEFAULTS.withPrivateData(ByteArray(256)) },
            "responder resources 256 is out of range: 0 to 255" to { ConnectionParameters.DEFAULTS.withReads(256, 0) },
            "initiator depth -1 is out of range: 0 to 255" to { ConnectionParameters.DEFAULTS.withReads(0, -1) },
            "retry count 8 is out of range: 0 to 7" to { ConnectionParameters.DEFAULTS.withRetries(8, 0) },
            "receiver-not-ready retry count -1 is out of range: 0 to 7" to
                { ConnectionParameters.DEFAULTS.withRetries(0, -1) },
        ).forEach { (message, make) ->
            test("should refuse: $message") {
                shouldThrow<IllegalArgumentException> { make() }.message shouldBe message
            }
        }
    })
