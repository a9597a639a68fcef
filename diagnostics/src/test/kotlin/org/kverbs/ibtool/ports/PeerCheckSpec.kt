package org.kverbs.ibtool.ports

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.management.path.directed
import org.kverbs.management.structures.LinkSpeed
import org.kverbs.management.structures.LinkSpeedExt
import org.kverbs.management.structures.LinkWidth
import org.kverbs.management.structures.MlnxExtPortInfo
import org.kverbs.management.structures.MlnxLinkSpeed
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.PortCapabilityMask
import org.kverbs.management.structures.PortInfo

class PeerCheckSpec :
    FunSpec({
        fun port(
            extended: MlnxExtPortInfo? = null,
            assign: PortInfo.() -> Unit,
        ): PortView {
            val info =
                PortInfo {
                    linkWidthSupported = LinkWidth.of(31)
                    linkWidthEnabled = LinkWidth.ALL_SUPPORTED
                    linkWidthActive = LinkWidth.W12X
                    linkSpeedSupported = LinkSpeed.of(7)
                    linkSpeedEnabled = LinkSpeed.of(15)
                    linkSpeedActive = LinkSpeed.of(4)
                    assign()
                }
            return PortView(directed(0), "", NodeInfo { }, 1, info, extended, info)
        }

        test("should find nothing at a link that is as wide and fast as both ends can") {
            PeerCheck.problems(port { }, port { }) shouldBe emptyList()
        }

        test("should say how wide and fast both ends could be") {
            val slow =
                port {
                    linkWidthActive = LinkWidth.W1X
                    linkSpeedActive = LinkSpeed.of(1)
                }
            PeerCheck.problems(slow, port { linkWidthEnabled = LinkWidth.of(3) }) shouldBe
                listOf(
                    "Peer ports operating at active width 1 rather than 2 (4x)",
                    "Peer ports operating at active speed 1 rather than 4 (10.0 Gbps)",
                )
        }

        test("should compare extended speeds where both ends have them") {
            val fast: PortInfo.() -> Unit = {
                capabilityMask = PortCapabilityMask.IsExtendedSpeedsSupported
                linkSpeedExtSupported = LinkSpeedExt.of(15)
                linkSpeedExtEnabled = LinkSpeedExt.of(31)
                linkSpeedExtActive = LinkSpeedExt.of(2)
            }
            PeerCheck.problems(port(assign = fast), port(assign = fast)) shouldBe
                listOf("Peer ports operating at active extended speed 2 rather than 8 (106.25 Gbps)")
            PeerCheck.problems(port(assign = fast), port { }) shouldBe emptyList()
        }

        test("should miss FDR10 where both ends have it enabled") {
            val extended = MlnxExtPortInfo { linkSpeedEnabled = MlnxLinkSpeed.of(1) }
            PeerCheck.problems(port(extended) { }, port(extended) { }) shouldBe
                listOf("Peer ports operating at active speed 4 rather than FDR10")
            PeerCheck.problems(port(extended) { }, port { }) shouldBe emptyList()
        }
    })
