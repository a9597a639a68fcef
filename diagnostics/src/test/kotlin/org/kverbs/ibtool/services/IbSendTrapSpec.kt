package org.kverbs.ibtool.services

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.ibtool.Outcome
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.NoticeTrap129
import org.kverbs.management.structures.NoticeTrap144
import org.kverbs.management.structures.PortInfo
import org.kverbs.structures.Lid

class IbSendTrapSpec :
    FunSpec({
        val node = NodeInfo { nodeType = NodeType.CA }
        val port = PortInfo { lid = Lid(7) }

        test("should tell of the port that sends a trap") {
            for (kind in TrapKind.entries) {
                val notice = kind.notice(node, port, 3)
                withClue(kind.word) {
                    notice.issuerLID shouldBe Lid(7)
                    notice.producerTypeVendorID shouldBe 1
                    notice.isGeneric shouldBe true
                }
            }
            val changed = NoticeTrap144.of(TrapKind.NODE_DESC_CHANGE.notice(node, port, 3).dataDetails)
            changed.nodeDescriptionChange shouldBe true
            changed.lidAddr shouldBe Lid(7)
            NoticeTrap129.of(TrapKind.LOCAL_LINK_INTEGRITY.notice(node, port, 3).dataDetails).portNo shouldBe 3
        }

        test("should send each trap to the manager, which confirms it, and none with --dry-run") {
            for (kind in TrapKind.entries) {
                val sent = Outcome("ibsendtrap", kind.word, "--fabric", "hosts:2")
                withClue("${sent.err}") { sent.status shouldBe 0 }
                "${sent.out}" shouldBe ""
                "${sent.err}" shouldContain "ibsendtrap: sends ${kind.word} to the subnet manager at LID 1"
            }
            val dry = Outcome("ibsendtrap", "pkey", "--dry-run", "--fabric", "hosts:2")
            "${dry.out}" shouldContain "would send pkey to the subnet manager at LID 1: NoticeSMP"
        }
    })
