package org.kverbs.internal.abi

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.core.test.Enabled
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe

class JextractSpec :
    FunSpec({
        val optIn = System.getProperty("kverbs.jextract") == "true"
        val wanted =
            if (optIn) {
                Enabled.enabled
            } else {
                skipped(
                    "jextract is opt-in: mvn verify -Pjextract, with jextract on the PATH.",
                )
            }

        test("should equal every size, offset and constant that jextract finds in the headers")
            .config(enabledOrReasonIf = { wanted }) {
                val listing = AbiListing.committed()
                inTemporaryFolder { folder ->
                    Jextract
                        .mismatches(
                            listing.entries,
                            Jextract.extract(listing.headers, folder),
                        ).joinToString("\n") shouldBe
                        ""
                }
            }

        test("should say in one sentence where to get jextract") {
            shouldThrow<IllegalStateException> { Jextract.program("/no/such/folder:/nor/this") }.message shouldBe
                "jextract is not on the PATH: unpack a build from https://jdk.java.net/jextract and add its bin " +
                "folder to the PATH."
        }

        // The two tests below do not run jextract: the comparison reads classes that were written by hand in the shape
        // of its output.
        val entries =
            listOf(
                AbiEntry("IbvAsyncEvent", "SIZE", "sizeof(struct ibv_async_event)"),
                AbiEntry("IbvAsyncEvent", "ELEMENT", "offsetof(struct ibv_async_event, element)"),
                AbiEntry("IbvAsyncEvent", "ELEMENT_QP", "offsetof(struct ibv_async_event, element.qp)"),
                AbiEntry("IbvAsyncEvent", "EVENT_TYPE", "offsetof(struct ibv_async_event, event_type)"),
                AbiEntry("IbvWc", "IMM_DATA", "offsetof(struct ibv_wc, imm_data)"),
                AbiEntry("IbvNodeType", "IBV_NODE_UNKNOWN", "IBV_NODE_UNKNOWN"),
                AbiEntry("IbvReregMrErrCode", "IBV_REREG_MR_ERR_CMD", "IBV_REREG_MR_ERR_CMD"),
                AbiEntry("IbvRxHashFields", "IBV_RX_HASH_INNER", "IBV_RX_HASH_INNER"),
                AbiEntry("AddressInfoErrors", "EAI_AGAIN", "EAI_AGAIN"),
            )

        test("should agree with a hand-written copy of jextract's output") {
            inTemporaryFolder { folder ->
                writeJextractLookalike(folder, asyncEventPadding = 0)
                Jextract.mismatches(entries, Jextract.compile(folder)).shouldBeEmpty()
            }
        }

        test(
            "should notice a wrong offset, a wrong size and a missing class in a hand-written copy of jextract's " +
                "output",
        ) {
            val absent = AbiEntry("IbvSge", "SIZE", "sizeof(struct ibv_sge)")
            inTemporaryFolder { folder ->
                writeJextractLookalike(folder, asyncEventPadding = 8)
                Jextract.mismatches(entries + absent, Jextract.compile(folder)) shouldContainExactly
                    listOf(
                        "IbvAsyncEvent.SIZE is 16, but jextract says sizeof(struct ibv_async_event) is 24",
                        "IbvAsyncEvent.EVENT_TYPE is 8, but jextract says offsetof(struct ibv_async_event, " +
                            "event_type) is 16",
                        "jextract has no sizeof(struct ibv_sge): java.lang.ClassNotFoundException: witness.ibv_sge",
                    )
            }
        }
    })
