package org.kverbs.management.subnet

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContain
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.ints.shouldBeLessThanOrEqual
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.test.runTest
import org.kverbs.management.fabric.fabric
import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.transaction.FaultyTransport
import org.kverbs.management.transaction.MadClosedException
import org.kverbs.management.transaction.MadTimeoutException
import org.kverbs.structures.Guid
import kotlin.random.Random

private fun Subnet.kinds() = problems.map { it.kind }.toSet()

class LyingFabricSpec :
    FunSpec({
        test("should stop at its limits in a fabric without end") {
            runTest {
                val endless =
                    lying { question ->
                        answerOf(question) { hops ->
                            val guid = hops.fold(1L) { hash, hop -> hash * 1_000_003 + hop }
                            switchInfo(guid, 254, if (hops.isEmpty()) 0 else 1)
                        }
                    }
                val subnet = fabric(endless).discover(maxNodes = 300, maxPorts = 3000)
                subnet.nodes.size shouldBeLessThanOrEqual 300
                subnet.ports.size shouldBeLessThanOrEqual 3000
                subnet.problems.map { it.kind } shouldBe listOf(SubnetProblemKind.LIMIT)
            }
        }

        test("should report the end of directed paths in a chain without end") {
            runTest {
                val chain =
                    lying { question ->
                        answerOf(question, isUp = { it == 2 }) { hops ->
                            if (hops.size > 63) null else switchInfo(100L + hops.size, 2, if (hops.isEmpty()) 0 else 1)
                        }
                    }
                val subnet = fabric(chain).discover()
                subnet.nodes shouldHaveSize 64
                subnet.kinds() shouldBe setOf(SubnetProblemKind.TOO_FAR)
                subnet.nodes.last().path.length shouldBe 63
            }
        }

        test("should find one node where each path leads to the same one") {
            runTest {
                val loop = lying { question -> answerOf(question) { switchInfo(7, 36, if (it.isEmpty()) 0 else 5) } }
                val subnet = fabric(loop).discover()
                subnet.nodes shouldHaveSize 1
                subnet.kinds() shouldContain SubnetProblemKind.LOOP
            }
        }

        test("should report a GUID that two nodes have, and not mistake one for the other") {
            runTest {
                val twins =
                    lying { question ->
                        answerOf(question) {
                            star(
                                it.map { hop ->
                                    if (hop ==
                                        5
                                    ) {
                                        3
                                    } else {
                                        hop
                                    }
                                },
                            )
                        }
                    }
                val subnet = fabric(twins).discover()
                subnet.duplicateGuids shouldBe setOf(Guid(48))
                subnet.problems.single { it.kind == SubnetProblemKind.DUPLICATE_GUID }.text shouldContain "port 5"
            }
        }

        test("should report a node that is another at each question") {
            runTest {
                var questions = 0
                val changing =
                    lying { question ->
                        val ports = 8 + questions++ % 5
                        answerOf(question) { switchInfo(7, ports, if (it.isEmpty()) 0 else 1) }
                    }
                val subnet = fabric(changing).discover()
                subnet.nodes shouldHaveSize 1
                subnet.duplicateGuids shouldBe setOf(Guid(7))
            }
        }

        test("should report what does not answer, and find the rest") {
            runTest {
                val dead =
                    lying { question ->
                        val isDead = question.hops == listOf(1, 4) || (question.isPortInfo && question.modifier == 6)
                        if (isDead) null else answerOf(question, isUp = { it != 8 }, node = ::star)
                    }
                val progress = mutableListOf<DiscoveryProgress>()
                val subnet = fabric(dead) { retries(1) }.discover { progress += it }
                subnet.nodes.map { it.guid.value } shouldBe listOf(1L, 16L, 32L, 48L, 80L, 112L)
                subnet.problems.map { Triple(it.kind, it.node?.value, it.port) } shouldBe
                    listOf(
                        Triple(SubnetProblemKind.NO_ANSWER, 1L, 4),
                        Triple(SubnetProblemKind.NO_ANSWER, 1L, 6),
                    )
                progress.last().timeouts shouldBe 2
                progress.map { it.timeouts }.sorted() shouldBe progress.map { it.timeouts }
            }
        }

        test("should end with the exception of its own port if that does not answer") {
            runTest { shouldThrow<MadTimeoutException> { fabric(lying { null }).discover() } }
        }

        test("should end with an exception that says so if its own port says what cannot be") {
            runTest {
                val wrong = lying { question -> answerOf(question) { hostInfo(16, arrival = 3) } }
                shouldThrow<IllegalStateException> { fabric(wrong).discover() }.message shouldContain
                    "the port of the fabric says what cannot be"
            }
        }

        test("should print no control character of a hostile name") {
            runTest {
                val name = "\u001b[2Jlogin:\r\n\u202eevil\u0000 behind"
                val hostile = lying { question -> answerOf(question, name, node = ::star) }
                val subnet = fabric(hostile).discover()
                val texts =
                    subnet.nodes.map { "$it" } + subnet.ports.map { "$it" } + subnet.links.map { "$it" } +
                        subnet.problems.map { "$it" }
                texts.filter { text -> text.any { it.isISOControl() || it == '\u202e' } }.shouldBeEmpty()
                subnet.nodes.first().name shouldBe "?[2Jlogin:???evil"
                val raw = subnet.nodes.first().nodeDescription
                raw shouldBe NodeDescription { nodeString = name }
            }
        }

        for (seed in 1..30) {
            test("should end with an answer whatever the bytes are that come (seed $seed)") {
                val random = Random(seed)
                val bytes =
                    FaultyTransport { request ->
                        val asked = question(request)
                        val honest = answerOf(asked) { hops -> star(hops.map { it % 9 }.take(2)) }?.bytes()
                        val data = honest?.copyOf(64) ?: ByteArray(64)
                        // What its own port says must be true.
                        if (asked.hops.isEmpty() &&
                            asked.isNodeInfo
                        ) {
                            return@FaultyTransport deliver(reply(request, data))
                        }
                        repeat(random.nextInt(4)) { data[random.nextInt(40)] = random.nextInt().toByte() }
                        when (random.nextInt(40)) {
                            0 -> Unit
                            1 -> deliver(reply(request, null))
                            2 -> deliver(reply(request, random.nextBytes(64)))
                            3 -> deliver(reply(request, data).copyOf(random.nextInt(256)))
                            else -> deliver(reply(request, data))
                        }
                    }
                runTest {
                    val subnet = fabric(bytes) { retries(3) }.discover(maxNodes = 200, maxPorts = 3000)
                    subnet.nodes.size shouldBeLessThanOrEqual 200
                    subnet.ports.size shouldBeLessThanOrEqual 3000
                    withClue(subnet.problems.take(20)) {
                        subnet.nodes.forEach { it.path.length shouldBeLessThanOrEqual 63 }
                        subnet.links.forEach { "$it" }
                        subnet.duplicateLids.size shouldBeLessThanOrEqual 0xc000
                    }
                }
            }
        }

        test("should end at once when it is cancelled, and leave no request behind") {
            runTest {
                val fabric = fabric(lying { if (it.hops.size > 1) null else answerOf(it, node = ::star) })
                val discovery = launch { fabric.discover() }
                delay(10)
                fabric.counters.outstanding shouldBe 7
                discovery.cancelAndJoin()
                fabric.counters.outstanding shouldBe 0
            }
        }

        test("should end with an exception that says so when the fabric is closed meanwhile") {
            runTest {
                val fabric =
                    fabric(
                        lying {
                            if (it.hops.size >
                                1
                            ) {
                                null
                            } else {
                                answerOf(it, node = ::star)
                            }
                        },
                    ) { outstanding(3) }
                val discovery = async { runCatching { fabric.discover() }.exceptionOrNull() }
                delay(10)
                fabric.close()
                discovery.await()?.javaClass shouldBe MadClosedException::class.java
            }
        }

        test("should end with an exception when the progress function closes the fabric") {
            runTest {
                // One question at a time: more could all be answered before the function is called.
                val fabric = fabric(lying { answerOf(it, node = ::star) }) { outstanding(1) }
                shouldThrow<IllegalStateException> { fabric.discover { if (it.nodes == 3) fabric.close() } }
                fabric.counters.outstanding shouldBe 0
            }
        }

        test("should hand on what the progress function throws") {
            runTest {
                shouldThrow<ArithmeticException> {
                    fabric(lying { answerOf(it, node = ::star) }).discover {
                        if (it.nodes ==
                            3
                        ) {
                            throw ArithmeticException()
                        }
                    }
                }
            }
        }

        test("should ask no adapter for what is behind it") {
            runTest {
                val asked = mutableListOf<List<Int>>()
                val fabric =
                    fabric(
                        lying { question ->
                            if (question.isNodeInfo) asked += question.hops
                            answerOf(question, node = ::star)
                        },
                    )
                val subnet = fabric.discover()
                subnet.links shouldHaveSize 8
                asked.filter { it.size > 2 }.shouldBeEmpty()
                subnet.here?.node?.guid shouldBe Guid(16)
                subnet.node(Guid(32))?.path?.hops shouldBe listOf(0, 1, 2)
                subnet.port(Guid(33))?.peer shouldBe subnet.node(Guid(1))?.port(2)
                PortInfo.byteSize shouldBe 64
            }
        }
    })
