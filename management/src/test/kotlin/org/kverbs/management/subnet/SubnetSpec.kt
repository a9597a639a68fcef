package org.kverbs.management.subnet

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.management.structures.LinkSpeed
import org.kverbs.management.structures.LinkSpeedExt
import org.kverbs.management.structures.LinkWidth
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.PortCapabilityMask
import org.kverbs.management.structures.PortInfo
import org.kverbs.structures.Guid
import org.kverbs.structures.Lid
import org.kverbs.structures.copy

class SubnetSpec :
    FunSpec({
        test("should find nodes and ports by GUID and by LID") {
            val subnet = starSubnet()
            subnet.node(Guid(32))?.name shouldBe "node 0000:0000:0000:0020"
            subnet.node(Guid(33)) shouldBe null
            subnet.port(Guid(33))?.node shouldBe subnet.node(Guid(32))
            subnet.port(Guid(1))?.number shouldBe 0
            subnet.port(Guid(0)) shouldBe null
            subnet.port(Lid(48))?.node shouldBe subnet.node(Guid(48))
            subnet.port(Lid(49)) shouldBe null
            subnet.port(Lid(0xffff)) shouldBe null
            subnet.node(Guid(1))?.port(3)?.lid shouldBe Lid(1)
            subnet.hosts shouldHaveSize 6
            subnet.switches shouldBe listOf(subnet.node(Guid(1)))
            subnet.routers.shouldBeEmpty()
        }

        test("should tell both ends of a link as one link") {
            val subnet = starSubnet()
            subnet.links shouldHaveSize 6
            val host = subnet.port(Guid(33)).shouldNotBeNull()
            host.link shouldBe host.peer?.link
            host.peer?.peer shouldBe host
            "${host.link}" shouldBe
                "\"node 0000:0000:0000:0001\" 0000:0000:0000:0001 port 2 - " +
                "\"node 0000:0000:0000:0020\" 0000:0000:0000:0020 port 1 4xQDR"
        }

        test("should tell which links are slower, narrower or not the same at both ends") {
            val subnet =
                starSubnet { question ->
                    val answer = starAnswer(question)
                    val port = if (question.hops.size == 1) question.modifier else question.hops.getOrElse(1) { 1 }
                    when {
                        answer !is PortInfo -> answer
                        port == 2 -> answer.copy { linkSpeedActive = LinkSpeed.SDR }
                        port == 3 -> answer.copy { linkWidthActive = LinkWidth.W1X }
                        port == 4 && question.hops.size == 1 -> answer.copy { linkSpeedActive = LinkSpeed.DDR }
                        else -> answer
                    }
                }

            fun ports(of: (SubnetLink) -> Boolean) = subnet.links.filter(of).map { it.a.number }
            ports { it.isSlowerThanPossible } shouldBe listOf(2, 4)
            ports { it.isNarrowerThanPossible } shouldBe listOf(3)
            ports { it.isAsymmetric } shouldBe listOf(4)
            "${subnet.links[1]}" shouldContain "4xSDR, could be 4xQDR"
            subnet.links[0].rate?.gigabits shouldBe 40.0
        }

        test("should tell which links are slower or narrower than both ends have enabled, which can be less") {
            val subnet =
                starSubnet { question ->
                    val answer = starAnswer(question)
                    val port = if (question.hops.size == 1) question.modifier else question.hops.getOrElse(1) { 1 }
                    if (answer !is PortInfo) return@starSubnet answer
                    answer.copy {
                        linkSpeedEnabled = if (port == 2) LinkSpeed.SDR else LinkSpeed.SDR + LinkSpeed.QDR
                        linkWidthEnabled = if (port == 3) LinkWidth.W1X else LinkWidth.of(255)
                        if (port in 2..5) linkSpeedActive = LinkSpeed.SDR
                        if (port == 3 || port == 4) linkWidthActive = LinkWidth.W1X
                    }
                }

            fun ports(of: (SubnetLink) -> Boolean) = subnet.links.filter(of).map { it.a.number }
            ports { it.isSlowerThanPossible } shouldBe listOf(2, 3, 4, 5)
            ports { it.isSlowerThanEnabled } shouldBe listOf(3, 4, 5)
            ports { it.isNarrowerThanPossible } shouldBe listOf(3, 4)
            ports { it.isNarrowerThanEnabled } shouldBe listOf(4)
            subnet.links.take(3).map { "${it.enabledRate}" } shouldBe listOf("4xQDR", "4xSDR", "1xQDR")
        }

        test("should take extended speeds for possible only if both ends say so") {
            fun subnet(able: (Question) -> Boolean) =
                starSubnet { question ->
                    val answer = starAnswer(question)
                    if (answer !is PortInfo) {
                        answer
                    } else {
                        answer.copy {
                            if (able(question)) capabilityMask = PortCapabilityMask.IsExtendedSpeedsSupported
                            linkSpeedExtSupported = LinkSpeedExt.FDR + LinkSpeedExt.EDR
                            if (question.hops == listOf(1, 3)) linkSpeedExtActive = LinkSpeedExt.EDR
                        }
                    }
                }
            // A switch says at its port 0 what it can do.
            val all = subnet { it.hops.size != 1 || it.modifier == 0 }
            all.links.map { "${it.possibleRate}" }.distinct() shouldBe listOf("4xEDR")
            subnet { it.hops.size != 1 }.links.map { "${it.possibleRate}" }.distinct() shouldBe listOf("4xQDR")
            all.port(Guid(49))?.rate shouldBe LinkRate(4, LaneSpeed.EDR)
        }

        test("should name the LIDs that two ports have, and count the LMC") {
            val subnet = starSubnet { question -> starAnswer(question, lidOf = { if (it.value > 64) 9 else 7 }) }
            subnet.duplicateLids.mapValues { (_, ports) -> ports.map { it.node.guid.value } } shouldBe
                mapOf(Lid(7) to listOf(1L, 16L, 32L, 48L, 64L), Lid(9) to listOf(80L, 96L))
            val ranges =
                starSubnet { question ->
                    starAnswer(question).let { if (it is PortInfo) it.copy { lmc = 4 } else it }
                }
            ranges.port(Lid(47))?.node?.guid shouldBe Guid(32)
            // The switch has 1 to 16.
            ranges.duplicateLids.keys shouldBe setOf(Lid(16))
        }

        test("should find the shortest route, and none through a host") {
            val subnet = starSubnet()
            val from = subnet.node(Guid(32)).shouldNotBeNull()
            val to = subnet.node(Guid(80)).shouldNotBeNull()
            val route = subnet.shortestRoute(from, to).shouldNotBeNull()
            route.hops.map { it.out.number to it.into.number } shouldBe listOf(1 to 2, 5 to 1)
            route.isComplete shouldBe true
            route.to shouldBe to
            route.rate shouldBe LinkRate(4, LaneSpeed.QDR)
            subnet.shortestRoute(from, from)?.hops shouldBe emptyList()
            shouldThrow<IllegalArgumentException> { starSubnet().shortestRoute(from, to) }
        }

        test("should group the nodes of one system image") {
            val chassis = starSubnet().chassis
            chassis.map { it.guid.value to it.nodes.map { node -> node.guid.value } } shouldBe
                listOf(32L to listOf(32L, 48L, 96L))
            chassis.single().internalLinks.shouldBeEmpty()
        }

        test("should tell what changed from one discovery to the next") {
            val before = starSubnet()
            val after =
                starSubnet { question ->
                    val answer =
                        starAnswer(
                            question,
                            lastUp = 7,
                            lidOf = { if (it.value == 48L) 5 else it.value.toInt() and 0xff },
                            speed = { if (it.value == 64L) LinkSpeed.SDR else LinkSpeed.QDR },
                        )
                    val isGone = question.hops == listOf(1, 2)
                    if (isGone) null else answer
                }
            val diff = before.changesTo(after)
            diff.addedNodes.map { it.guid.value } shouldBe listOf(112L)
            diff.removedNodes.map { it.guid.value } shouldBe listOf(32L)
            diff.changedNodes.shouldBeEmpty()
            diff.addedLinks.map { it.a.number } shouldBe listOf(7)
            diff.removedLinks.map { it.a.number } shouldBe listOf(2)
            diff.changedPorts.map { "$it".substringAfter(": ") } shouldBe
                listOf("state DOWN(1) -> ACTIVE(4), physical state POLLING(2) -> LINK_UP(5)", "LID 48 -> 5")
            "$diff".lines().first() shouldBe "- node CA(1) 0000:0000:0000:0020 \"node 0000:0000:0000:0020\""
            before.changesTo(before).isEmpty shouldBe true
            after.changesTo(before).addedNodes.map { it.guid.value } shouldBe listOf(32L)
        }

        test("should give views that no program can write") {
            val port = starSubnet().port(Guid(33)).shouldNotBeNull()
            shouldThrow<RuntimeException> { port.info?.lid = Lid(3) }
            port.lid shouldBe Lid(32)
            NodeInfo.byteSize shouldBe 40
        }
    })
