package org.kverbs.management.sa

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldStartWith
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.test.TestScope
import kotlinx.coroutines.test.runTest
import org.kverbs.attributes.Gid
import org.kverbs.management.agent.ReceivedRequest
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.fabric.fabric
import org.kverbs.management.path.lid
import org.kverbs.management.rmpp.RmppSettings
import org.kverbs.management.rmpp.Wire
import org.kverbs.management.structures.ClassPortInfo
import org.kverbs.management.structures.MTU
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.MultiPathRecord
import org.kverbs.management.structures.NodeRecord
import org.kverbs.management.structures.PathRecord
import org.kverbs.management.structures.Rate
import org.kverbs.management.structures.SAStatus
import org.kverbs.management.structures.ServiceRecord
import org.kverbs.management.structures.TraceRecord
import org.kverbs.management.transaction.MadClassException
import org.kverbs.management.transaction.MadEventKind
import org.kverbs.management.transaction.MadReplyException
import org.kverbs.management.transaction.MadStatusException
import org.kverbs.management.transaction.MadTimeoutException
import org.kverbs.management.transaction.MadTransferException
import org.kverbs.structures.Lid
import kotlin.random.Random
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes

private val there = Gid.parse("fe80::2:c903:0:1492")

/** A program at LID 1 and an administrator at LID 2 that [handler] is, with [wire] between them. */
private class Subnet(
    val wire: Wire,
    scope: TestScope,
    handler: suspend (ReceivedRequest) -> Unit,
) {
    val asking: Fabric = fabric(wire.first) { context(scope.backgroundScope.coroutineContext) }
    val asked: Fabric = fabric(wire.second) { context(scope.backgroundScope.coroutineContext) }

    init {
        asked.serve(ManagementClass.SUBN_ADM, handler)
    }
}

private fun subnet(
    wire: TestScope.() -> Wire = { Wire(backgroundScope) },
    handler: suspend (ReceivedRequest) -> Unit,
    body: suspend TestScope.(Subnet) -> Unit,
) = runTest(timeout = 1.minutes) { body(Subnet(wire(), this, handler)) }

private fun nodes(count: Int) =
    List(count) { index ->
        NodeRecord {
            lid = Lid(index + 1)
            nodeDescription.nodeString = "node $index"
        }
    }

class SubnetAdministrationSpec :
    FunSpec({
        for (count in listOf(0, 1, 2, 1000)) {
            test("should return $count records as a list and as a flow") {
                subnet(handler = { it.answerRecords(nodes(count)) }) {
                    it.asking.sa.records<NodeRecord>() shouldContainExactly nodes(count)
                    it.asking.sa.recordFlow(NodeRecord.query {}).toList() shouldContainExactly nodes(count)
                }
            }
        }

        for (seed in 1..4) {
            test("should give each of many queries its own records over a poor wire (seed $seed)") {
                val poor: TestScope.() -> Wire = { Wire(backgroundScope, Random(seed), 6, 5, 4) }
                subnet(poor, { request ->
                    val wanted = request.value(NodeRecord).lid.value
                    request.answerRecords(nodes(wanted + 20).drop(wanted - 1))
                }) { subnet ->
                    List(40) { index ->
                        async { subnet.asking.sa.records<NodeRecord> { lid = Lid(index + 1) } }
                    }.awaitAll().forEachIndexed { index, records ->
                        records shouldContainExactly nodes(index + 21).drop(index)
                    }
                    subnet.asking.counters.outstanding shouldBe 0
                }
            }
        }

        test("should put the mask of what was assigned, the class and the method into a request") {
            var seen: ReceivedRequest? = null
            subnet(handler = {
                seen = it
                it.answerRecords(emptyList())
            }) {
                it.asking.sa
                    .paths {
                        dgid = there
                        dlid = Lid(4)
                    }.shouldBeEmpty()
                val request = checkNotNull(seen)
                request.componentMask.value shouldBe 0x14L + (1L shl 12)
                request.method shouldBe Method.GET_TABLE
                request.attributeId shouldBe 0x35
                request.value(PathRecord).dgid shouldBe there
                request.from shouldBe lid(1)
            }
        }

        test("should take an administrator's 'no records' for an empty list, and name its other refusals") {
            subnet(handler = { it.refuse(if (it.attributeId == 0x11) SAStatus.NO_RECORDS else SAStatus.REQ_DENIED) }) {
                it.asking.sa.records<NodeRecord>().shouldBeEmpty()
                shouldThrow<MadClassException> { it.asking.sa.get<NodeRecord> { lid = Lid(9) } }.classStatus shouldBe 3
                val error = shouldThrow<MadClassException> { it.asking.sa.records<PathRecord>() }
                error.statusName shouldBe "REQ_DENIED(7)"
                error.message shouldContain "REQ_DENIED(7)"
            }
        }

        test("should set and delete a record, and trace a route") {
            subnet(handler = {
                when (it.method) {
                    Method.GET_TRACE_TABLE -> it.answerRecords(List(3) { hop -> TraceRecord { entryPort = hop } })
                    else -> it.answer(it.value(ServiceRecord))
                }
            }) { subnet ->
                val query = ServiceRecord.query { serviceName = "kverbs" }
                subnet.asking.sa.set(query).serviceName shouldBe "kverbs"
                subnet.asking.sa.delete(query).serviceName shouldBe "kverbs"
                subnet.asking.sa.trace { dlid = Lid(9) }.map { it.entryPort } shouldBe listOf(0, 1, 2)
            }
        }

        for (ports in listOf(1, 11, 100)) {
            test("should ask for paths between $ports and $ports ports in one long request") {
                val gids = List(ports) { Gid(0x1234, it.toLong()) }
                val poor: TestScope.() -> Wire = { Wire(backgroundScope, Random(ports), 8, 5, 4) }
                subnet(poor, { request ->
                    val head = request.value(MultiPathRecord)
                    val seen =
                        (0 until head.sgidCount + head.dgidCount).map {
                            Gid.of(request.mad.copyOfRange(80 + 16 * it, 96 + 16 * it))
                        }
                    request.answerRecords(
                        seen.take(head.sgidCount).zip(seen.drop(head.sgidCount)) { a, b ->
                            PathRecord {
                                sgid = a
                                dgid = b
                            }
                        },
                    )
                }) { subnet ->
                    val paths = subnet.asking.sa.getMulti(gids, gids.reversed()) { numbPath = 1 }
                    paths.map { it.sgid to it.dgid } shouldContainExactly gids.zip(gids.reversed())
                }
            }
        }

        test("should resolve a port to a path with its qualities, ask once for it, and again after forget") {
            var questions = 0
            subnet(handler = {
                questions++
                it.answer(
                    it.value(PathRecord).apply {
                        slid = Lid(1)
                        dlid = Lid(4)
                        sl = 3
                        pKey = 0x8001
                        mtu = MTU.MTU_2048
                        rate = Rate.RATE_100_GBPS
                        packetLifeTime = 18
                    },
                )
            }) {
                val found = it.asking.sa.path(there)
                "${found.path}" shouldBe "Path 1 -> 4 SL=3 PKey=0x8001 DQPN=1"
                found.mtuBytes shouldBe 2048
                found.rate shouldBe Rate.RATE_100_GBPS
                found.lifeTime.inWholeMilliseconds shouldBe 1073
                it.asking.sa.path(there)
                questions shouldBe 1
                it.asking.sa.path(lid(4)).destination shouldBe Gid(0, 0)
                it.asking.sa.forget()
                it.asking.sa.path(there)
                questions shouldBe 3
            }
        }

        test("should tell that there is no path by the messages of all layers, as seed 003 has them") {
            subnet(handler = { it.refuse(SAStatus.NO_RECORDS) }) {
                val error = shouldThrow<SaPathNotFoundException> { it.asking.sa.path(there) }
                val rpc = "RPC MAD_METHOD_GET(1) SAFormat(3.2) SAPathRecord(53) got class specific error 3"
                val failed = "Failed getting MAD path record for end port GID('fe80::2:c903:0:1492')."
                error.messages shouldContainExactly listOf(rpc, failed)
                error.dumpDetailed(0) shouldBe "E: $failed\n"
                error.dumpDetailed(1) shouldBe "E: $failed\nE: +$rpc\n"
                val all = error.dumpDetailed(2)
                all shouldStartWith error.dumpDetailed(1)
                all shouldContain "E: MAD_METHOD_GET(1) SAFormat(3.2) SAPathRecord(53)\n"
                all shouldContain "dgid=fe80::2:c903:0:1492"
                all shouldContain "E: MAD_METHOD_GET_RESP(129) SAFormat(3.2) SAPathRecord(53)\n"
            }
        }

        test("should show the answer whose path leads to no port") {
            subnet(handler = { it.answer(it.value(PathRecord).apply { slid = Lid(1) }) }) {
                val error = shouldThrow<MadReplyException> { it.asking.sa.path(there) }
                error.message shouldContain "with data that cannot be read"
                PathRecord.at(checkNotNull(error.reply), 56).slid shouldBe Lid(1)
                error.messages.last() shouldStartWith "Failed getting MAD path record"
            }
        }

        test("should follow one redirection, and no second one") {
            var elsewhere = lid(2)
            subnet(handler = {
                it.mad.fill(0, 56, 256)
                ClassPortInfo.at(it.mad, 56).apply {
                    redirectLID = elsewhere.destination
                    redirectQP = 1
                }
                if (it.attributeId == 0x11 && it.modifier == 0L) it.refuse(2)
            }) { subnet ->
                shouldThrow<MadStatusException> {
                    subnet.asking.sa.get<NodeRecord> {
                        lid =
                            Lid(
                                1,
                            )
                    }
                }.message shouldContain
                    "REDIRECT(2)"
                subnet.wire.packets.size shouldBe 4
                elsewhere = lid(0xc000)
                subnet.wire.packets.clear()
                shouldThrow<MadStatusException> { subnet.asking.sa.get<NodeRecord> { lid = Lid(1) } }
                subnet.wire.packets.size shouldBe 2
            }
        }

        test("should not follow a redirection whose key no path has") {
            subnet(handler = {
                it.mad.fill(0, 56, 256)
                ClassPortInfo.at(it.mad, 56).apply {
                    redirectLID = Lid(2)
                    redirectQP = 1
                    redirectQKey = 0x1234
                }
                it.refuse(2)
            }) { subnet ->
                shouldThrow<MadStatusException> { subnet.asking.sa.get<NodeRecord> { lid = Lid(1) } }
                subnet.wire.packets.size shouldBe 2
            }
        }

        test("should refuse records that are farther apart than the answer is long, or do not divide it") {
            for ((size, distance) in listOf(64 to 0x7fff, 4000 to 0x7fff, 4004 to 14)) {
                subnet(handler = { it.answerLong(ByteArray(size) { 1 }, distance) }) {
                    withClue("$size bytes, $distance words") {
                        shouldThrow<MadReplyException> { it.asking.sa.records<NodeRecord>() }.message shouldContain
                            "records of NodeRecord are ${distance * 8} bytes apart"
                    }
                }
            }
        }

        test("should refuse an answer of several records to a question for one") {
            subnet(handler = { request ->
                request.answerLong(nodes(3).fold(ByteArray(0)) { all, node -> all + node.bytes().copyOf(112) }, 14)
            }) {
                shouldThrow<MadReplyException> { it.asking.sa.get<NodeRecord> { lid = Lid(1) } }.message shouldContain
                    "it has 336 bytes, more than one NodeRecord"
            }
        }

        test("should refuse records that are closer together than they are long") {
            for (distance in listOf(0, 1, 13)) {
                subnet(handler = { it.answerLong(ByteArray(4000) { 1 }, distance) }) {
                    shouldThrow<MadReplyException> { it.asking.sa.records<NodeRecord>() }.message shouldContain
                        "records of NodeRecord are ${distance * 8} bytes apart"
                }
            }
        }

        test("should free everything when a query is cancelled in the middle of its answer, at any point") {
            for (millis in 1..60 step 3) {
                subnet(handler = { it.answerRecords(nodes(2000)) }) { subnet ->
                    val asking = launch { subnet.asking.sa.records<NodeRecord>() }
                    delay(millis.milliseconds)
                    asking.cancelAndJoin()
                    subnet.asking.counters.outstanding shouldBe 0
                    delay(1.minutes)
                    subnet.asking.sa.records<NodeRecord>().size shouldBe 2000
                }
            }
        }

        test("should end a query whose administrator goes away in the middle of the answer") {
            subnet(handler = { it.answerLong(ByteArray(1_000_000), 14) }) { subnet ->
                val asking = async { runCatching { subnet.asking.sa.records<NodeRecord>() }.exceptionOrNull() }
                delay(20.milliseconds)
                subnet.asked.close()
                asking.await()?.javaClass shouldBe MadTimeoutException::class.java
                subnet.asking.counters.outstanding shouldBe 0
            }
        }

        test("should tell why a query's answer was given up") {
            runTest {
                val wire = Wire(backgroundScope)
                val context = backgroundScope.coroutineContext
                val asking =
                    fabric(wire.first) {
                        context(context)
                        rmpp(RmppSettings(maxMessage = 10_000))
                    }
                fabric(wire.second) { context(context) }
                    .serve(ManagementClass.SUBN_ADM) { it.answerRecords(nodes(1000)) }
                shouldThrow<MadTransferException> { asking.sa.records<NodeRecord>() }.message shouldContain
                    "RESOURCES_EXHAUSTED(1)"
                asking.counters[MadEventKind.BROKEN] shouldBe 4
            }
        }
    })
