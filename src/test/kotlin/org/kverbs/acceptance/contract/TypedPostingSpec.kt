package org.kverbs.acceptance.contract

import com.sun.management.ThreadMXBean
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.shouldNotBe
import org.kverbs.CompletionQueue
import org.kverbs.Context
import org.kverbs.MemoryRegion
import org.kverbs.ProtectionDomain
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletionOpcode
import org.kverbs.WorkCompletions
import org.kverbs.attributes.MemoryWindowType
import org.kverbs.attributes.QueuePairState
import org.kverbs.dsl.ConnectedVerbs
import org.kverbs.dsl.LOCAL_WRITE
import org.kverbs.dsl.MW_BIND
import org.kverbs.dsl.RC
import org.kverbs.dsl.REMOTE_ATOMIC
import org.kverbs.dsl.REMOTE_READ
import org.kverbs.dsl.REMOTE_WRITE
import org.kverbs.dsl.Transport
import org.kverbs.dsl.TypedQueuePair
import org.kverbs.dsl.UC
import org.kverbs.dsl.UD
import org.kverbs.dsl.activate
import org.kverbs.dsl.addressHandle
import org.kverbs.dsl.await
import org.kverbs.dsl.bind
import org.kverbs.dsl.compareAndSwap
import org.kverbs.dsl.completionQueue
import org.kverbs.dsl.connect
import org.kverbs.dsl.destination
import org.kverbs.dsl.endpoint
import org.kverbs.dsl.fetchAndAdd
import org.kverbs.dsl.get
import org.kverbs.dsl.localInvalidate
import org.kverbs.dsl.memoryRegion
import org.kverbs.dsl.modify
import org.kverbs.dsl.nextRkey
import org.kverbs.dsl.openDevice
import org.kverbs.dsl.post
import org.kverbs.dsl.postReceive
import org.kverbs.dsl.qp
import org.kverbs.dsl.read
import org.kverbs.dsl.register
import org.kverbs.dsl.send
import org.kverbs.dsl.sendEmpty
import org.kverbs.dsl.sendInline
import org.kverbs.dsl.sendWithImmediate
import org.kverbs.dsl.sendWithInvalidate
import org.kverbs.dsl.srq
import org.kverbs.dsl.write
import org.kverbs.dsl.writeEmpty
import org.kverbs.dsl.writeInline
import org.kverbs.dsl.writeWithImmediate
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_LONG
import java.lang.management.ManagementFactory
import java.nio.ByteBuffer

/** Checks every word of the DSL, and the bytes at their destination. */
internal class TypedPostingSpec :
    FunSpec({
        test("should move bytes by each word of a reliable connection") {
            onDevice {
                val (a, b) = connected(RC)
                val target = there.remote()
                here.text(0, "one, two, three")

                b.postReceive(into = there[0, 100], id = 7)
                a.post { send(here[0, 4]).and(here[10, 6]).signaled() }
                cq.done(2)
                there.text(0) shouldBe "one,three"

                b.postReceive(into = there[0, 100])
                a.post { sendInline(segment("inline")).signaled() }
                cq.done(2)
                there.text(0) shouldBe "inline"

                b.postReceive(into = there[0, 100], id = 9)
                a.post { sendEmpty(id = 8).signaled() }
                cq.done(2).map { it.workRequestId() }.toSet() shouldBe setOf(8L, 9L)

                b.postReceive(into = there[0, 100], id = 9)
                a.post { sendWithImmediate(here[5, 3], immediate = 0x1234).signaled() }
                cq.done(2).single { it.workRequestId() == 9L }.immediate() shouldBe 0x1234
                there.text(0).take(3) shouldBe "two"

                a.post {
                    write(here[0, 16], to = target, offset = 200)
                    writeInline(segment("tiny"), to = target.at(300)).signaled()
                }
                cq.done(1)
                listOf(there.text(200), there.text(300)) shouldBe listOf("one, two, three", "tiny")

                b.postReceive(into = there[0, 0], id = 9)
                a.post { writeWithImmediate(here[5, 3], to = target, immediate = -1, offset = 400).signaled() }
                cq.done(2).single { it.workRequestId() == 9L }.immediate() shouldBe -1
                there.text(400) shouldBe "two"

                a.post { writeEmpty(to = target, offset = 300, id = 10).signaled() }
                val written = cq.done(1).single()
                written.workRequestId() to written.opcode() shouldBe (10L to WorkCompletionOpcode.RDMA_WRITE)
                there.text(300) shouldBe "tiny"

                b.postReceive(into = there[0, 100], id = 9)
                a.post { writeWithImmediate(to = target, immediate = 0x77).signaled() }
                val noted = cq.done(2).single { it.workRequestId() == 9L }
                noted.immediate() to noted.byteLength() shouldBe (0x77 to 0L)

                b.postReceive(into = there[0, 100], id = 9)
                a.post { sendWithImmediate(immediate = 0x78).signaled() }
                val empty = cq.done(2).single { it.workRequestId() == 9L }
                empty.immediate() to empty.byteLength() shouldBe (0x78 to 0L)

                a.post { read(target, into = here[512, 16], offset = 200).fence().signaled() }
                cq.done(1)
                here.text(512) shouldBe "one, two, three"

                there.memory().set(JAVA_LONG, 1024, 40)
                a.post { fetchAndAdd(target, add = 2, into = here[1024, 8], offset = 1024) }
                a.post {
                    compareAndSwap(target, compare = 42, swap = 7, into = here[1032, 8], offset = 1024).signaled()
                }
                cq.done(1)
                there.memory().get(JAVA_LONG, 1024) shouldBe 7
                listOf(here.memory().get(JAVA_LONG, 1024), here.memory().get(JAVA_LONG, 1032)) shouldBe listOf(40L, 42L)
            }
        }

        test("should bind windows and end their keys") {
            onDevice {
                val (a, b) = connected(RC)
                here.text(0, "through a window")
                val window = pd.memoryWindow(MemoryWindowType.TYPE_2)
                for (ending in listOf("by the owner", "by the peer")) {
                    val key = window.nextRkey()
                    withClue("bind, to be ended $ending") {
                        b.post { bind(window, key, to = there[0, 1000], REMOTE_WRITE).signaled() }
                        cq.done(1)
                    }
                    withClue("write, before it is ended $ending") {
                        a.post { write(here[0, 20], to = window.remote(there[0, 1000], key)).signaled() }
                        cq.done(1)
                    }
                    there.text(0) shouldBe "through a window"
                    there.text(0, "")
                    withClue("end $ending") {
                        if (ending == "by the owner") {
                            b.post { localInvalidate(key).signaled() }
                            cq.done(1)
                        } else {
                            b.postReceive(into = there[2000, 10], id = 5)
                            a.post { sendWithInvalidate(here[0, 1], rkey = key).signaled() }
                            cq.done(2)
                        }
                    }
                }
                a.post { write(here[0, 20], to = window.remote(there[0, 1000], window.rkey())) }
                cq.await().single().isSuccess shouldBe false
            }
        }

        test("should write and send on an unreliable connection") {
            onDevice {
                val (a, b) = connected(UC)
                here.text(0, "unreliable")
                b.postReceive(into = there[100, 100])
                a.post {
                    write(here[0, 11], to = there.remote())
                    send(here[0, 11]).signaled()
                }
                cq.done(2)
                listOf(there.text(0), there.text(100)) shouldBe listOf("unreliable", "unreliable")
            }
        }

        test("should send datagrams to a destination, into a shared receive queue too") {
            onDevice {
                val shared = pd.srq { maxWr(8) }
                val a =
                    pd.qp(UD) {
                        cq(cq)
                        maxInlineData(64)
                    }
                val b =
                    pd.qp(UD) {
                        cq(cq)
                        srq(shared)
                    }
                listOf(a, b).forEach { it.activate() }
                val peer = a.destination(b.endpoint())
                repeat(3) { shared.postReceive(10L + it, there[200L * it, 200]) }
                here.text(0, "datagram")
                a.post {
                    send(here[0, 9], to = peer)
                    sendInline(segment("inline"), to = peer)
                    sendWithImmediate(here[0, 9], to = peer, immediate = 5).signaled()
                }
                val received = cq.done(4).filter { it.workRequestId() >= 10 }
                (0L..2L).map { there.text(200 * it + GRH_BYTES) } shouldBe listOf("datagram", "inline", "datagram")
                received.last().immediate() shouldBe 5

                repeat(2) { shared.postReceive(10L + it, there[200L * it, 200]) }
                a.post {
                    sendEmpty(to = peer)
                    sendWithImmediate(to = peer, immediate = 6).signaled()
                }
                val empty = cq.done(3).filter { it.workRequestId() >= 10 }
                empty.map { it.byteLength() } shouldBe listOf(GRH_BYTES, GRH_BYTES)
                empty.last().immediate() shouldBe 6

                val route = a.endpoint().gid()
                pd
                    .addressHandle {
                        port(1)
                        globalRoute(route, device.defaultGidIndex(1))
                    }.attributes()
                    .globalRoute()!!
                    .dgid() shouldBe
                    route
            }
        }

        test("should move bytes by extended queues, which a word of the DSL selects") {
            onDevice {
                val queue =
                    device.completionQueue {
                        entries(16)
                        extended()
                    }
                val (a, b) =
                    List(2) {
                        pd.qp(RC) {
                            cq(queue)
                            extended()
                        }
                    }
                a.connect(b.endpoint())
                b.connect(a.endpoint())
                a.queuePair.isExtended shouldBe true
                here.text(0, "extended")
                a.post { write(here[0, 9], to = there.remote()).signaled() }
                queue.done(1)
                there.text(0) shouldBe "extended"
            }
        }

        test("should allocate nothing on the heap to post and to poll") {
            onDevice {
                val (a, _) = connected(RC)
                val target = there.remote()
                val local = here[0, 64]
                val batch = WorkCompletions(4)

                fun round() {
                    a.post { write(local, to = target, offset = 64).signaled() }
                    while (cq.poll(batch) == 0) Thread.onSpinWait()
                }

                val threads = ManagementFactory.getThreadMXBean() as ThreadMXBean
                val before = List(2) { threads.currentThreadAllocatedBytes }.last()
                val idle = threads.currentThreadAllocatedBytes - before

                fun stretch(): Long {
                    val start = threads.currentThreadAllocatedBytes
                    repeat(1000) { round() }
                    return threads.currentThreadAllocatedBytes - start
                }
                // Repeats until the JIT has compiled the code, which a busy machine delays. One object in each round is
                // 16,000 bytes.
                generateSequence { stretch() }.take(100).firstOrNull { it < 8000 + idle } shouldNotBe null
            }
        }

        test("should register a direct buffer and change a queue pair's state by name") {
            onDevice {
                val region = pd.register(ByteBuffer.allocateDirect(100)) { access(LOCAL_WRITE) }
                region.length() shouldBe 100
                val (a, _) = connected(RC)
                a.queuePair.modify { state(QueuePairState.ERR) }
                a.queuePair.state() shouldBe QueuePairState.ERR
            }
        }
    })

private class Setting(
    val device: Context,
) {
    val pd: ProtectionDomain = device.protectionDomain()
    val cq = device.completionQueue { entries(64) }
    val here = region()
    val there = region()

    private fun region() =
        pd.memoryRegion(4096) { access(LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, MW_BIND) }

    fun <V : ConnectedVerbs> connected(transport: Transport<V>): Pair<TypedQueuePair<V>, TypedQueuePair<V>> {
        fun end() =
            pd.qp(transport) {
                cq(cq)
                maxSendSge(2)
                maxInlineData(64)
            }
        val (a, b) = end() to end()
        a.connect(b.endpoint())
        b.queuePair.connect(a.endpoint()) { retryCount(6) }
        return a to b
    }
}

private fun onDevice(block: Setting.() -> Unit) = openDevice(devicesUnderTest.first().name).use { Setting(it).block() }

private fun CompletionQueue.done(count: Int): List<WorkCompletion> = await(count).onEach { it.orThrow() }

private fun segment(text: String) = MemorySegment.ofArray("$text\u0000".toByteArray())

private fun MemoryRegion.text(at: Long): String = memory().getString(at)

private fun MemoryRegion.text(
    at: Long,
    value: String,
) = memory().setString(at, value)
