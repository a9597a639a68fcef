package org.kverbs.embedded

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.CompletionCounter
import org.kverbs.CompletionQueueAttributes
import org.kverbs.CompletionQueueOptions
import org.kverbs.MemoryRegion
import org.kverbs.QueuePair
import org.kverbs.QueuePairInitAttributes
import org.kverbs.SendRequests
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.CompletionField
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.CountedOperation
import org.kverbs.attributes.MemoryWindowType
import org.kverbs.attributes.Mtu
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairEndpoint
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.RateLimit
import org.kverbs.attributes.SharedReceiveQueueAttributes
import java.lang.foreign.Arena
import java.nio.channels.FileChannel
import java.nio.file.Files
import java.nio.file.StandardOpenOption
import java.util.function.Consumer

private const val SHORT = 64L
private val WRITABLE = arrayOf(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE)

private fun QueuePair.become(state: QueuePairState) = modify(QueuePairAttributes.builder().state(state).build())

private fun Pair.write(to: MemoryRegion = b.mr) {
    a.post { write(1, to.remote().slice(0, SHORT)).from(a.mr.slice(0, SHORT)).signaled() }
}

private fun Pair.migrates(end: End) =
    end.qp.armAlternatePath(
        (if (end === a) b else a).qp.endpoint(OTHER),
        OTHER,
    )

private val OTHER = ConnectOptions.builder().gidIndex(1).build()

/** Posts with a queue pair that is made and connected here. */
private fun Pair.with(
    near: QueuePairInitAttributes = QueuePairInitAttributes.of(QueuePairType.RC, a.cq),
    far: QueuePairInitAttributes = QueuePairInitAttributes.of(QueuePairType.RC, b.cq),
    change: (QueuePair, QueuePair) -> Unit = { _, _ -> },
    options: ConnectOptions = ConnectOptions.DEFAULTS,
    post: SendRequests.(QueuePair) -> Unit = { write(1, b.mr.remote()).from(a.mr.slice(0, SHORT)).signaled() },
) {
    val qp = a.pd.queuePair(near)
    val peer = b.pd.queuePair(far)
    change(qp, peer)
    qp.connect(peer.endpoint(options), options)
    peer.connect(qp.endpoint(options), options)
    qp.postWith(Consumer { it.post(peer) })
}

private val LINK_LOCAL = ConnectOptions.builder().gidIndex(0).build()

private val SMALL = ConnectOptions.builder().pathMtu(Mtu.MTU_256).build()

/** Writes with queue pairs of which the peer is connected otherwise; [peers] changes what it hears of the sender. */
private fun Pair.connectedBy(
    shown: ConnectOptions = ConnectOptions.DEFAULTS,
    peersOptions: ConnectOptions = ConnectOptions.DEFAULTS,
    peers: (QueuePairEndpoint) -> QueuePairEndpoint = { it },
) {
    val qp = a.pd.queuePair(QueuePairInitAttributes.of(QueuePairType.RC, a.cq))
    val peer = b.pd.queuePair(QueuePairInitAttributes.of(QueuePairType.RC, b.cq))
    qp.connect(peer.endpoint())
    peer.connect(peers(qp.endpoint(shown)), peersOptions)
    qp.postWith(Consumer { it.write(1, b.mr.remote()).from(a.mr.slice(0, SHORT)).signaled() })
}

private fun Pair.mapped(end: End): MemoryRegion {
    val path = Files.createTempFile("kverbs-", ".mapped")
    return FileChannel
        .open(path, StandardOpenOption.READ, StandardOpenOption.WRITE, StandardOpenOption.DELETE_ON_CLOSE)
        .use { end.pd.register(it.map(FileChannel.MapMode.READ_WRITE, 0, SHORT, Arena.ofAuto()), *WRITABLE) }
}

private fun Pair.writeFrom(from: MemoryRegion) =
    a.post { write(1, b.mr.remote()).from(from.slice(0, SHORT)).signaled() }

/** What must take the lock from the next message on. The connection has had a direct message before. */
private val changes =
    mapOf<String, (Pair) -> Unit>(
        "faults" to {
            it.fabric.setFaults(Faults.NONE.duplication(0.1))
            it.write()
        },
        "faults on one way" to {
            it.fabric.setFaults(it.server, it.client, Faults.NONE.duplication(0.1))
            it.write()
        },
        "a partition" to {
            it.fabric.partition(it.client, it.server)
            it.write()
        },
        "a capture" to { pair ->
            val file = Files.createTempFile("kverbs-", ".pcap")
            pair.fabric.capture(file).use { pair.write() }
            Files.delete(file)
        },
        "diagnostics" to {
            it.fabric.diagnose { }
            it.write()
        },
        "injected failures of another call" to {
            it.fabric.inject(Failure.of(Operation.QUERY_QUEUE_PAIR, Errno.EIO))
            it.write()
        },
        "the sender's link" to {
            it.fabric.linkDown(it.client)
            it.write()
        },
        "the peer's link" to {
            it.fabric.linkDown(it.server)
            it.write()
        },
        "an address of the peer" to {
            it.fabric.addressDown(it.b.context.queryGid(1, 0))
            it.write()
        },
        "an address of the sender" to {
            it.fabric.addressDown(it.a.context.queryGid(1, 1))
            it.write()
        },
        "a sender that is cut off" to {
            it.fabric.kill(it.client)
            it.write()
        },
        "a peer that is cut off" to {
            it.fabric.kill(it.server)
            it.write()
        },
        "a sender in SQD" to {
            it.a.qp.become(QueuePairState.SQD)
            it.write()
        },
        "a sender in ERR" to {
            it.a.qp.become(QueuePairState.ERR)
            it.write()
        },
        "a peer in SQD" to {
            it.b.qp.become(QueuePairState.SQD)
            it.write()
        },
        "a peer in ERR" to {
            it.b.qp.become(QueuePairState.ERR)
            it.write()
        },
        "a peer in RESET" to {
            it.b.qp.become(QueuePairState.RESET)
            it.write()
        },
        "a peer that is closed" to {
            it.b.qp.close()
            it.write()
        },
        "a peer without remote writes" to {
            it.b.qp.modify(QueuePairAttributes.builder().accessFlags(AccessFlag.REMOTE_READ).build())
            it.write()
        },
        "a rate limit" to {
            it.a.qp.limitRate(RateLimit.ofKbps(1_000_000))
            it.write()
        },
        "a rate limit of the peer" to {
            it.b.qp.limitRate(RateLimit.ofKbps(1_000_000))
            it.write()
        },
        "an alternate path" to {
            it.migrates(it.a)
            it.write()
        },
        "an alternate path of the peer" to {
            it.migrates(it.b)
            it.write()
        },
        "an armed completion queue of the peer" to { pair ->
            val channel = pair.b.context.completionChannel()
            val cq = pair.b.context.completionQueue(CompletionQueueAttributes(64, channel, 0))
            pair.with(far = QueuePairInitAttributes.of(QueuePairType.RC, cq)) { peer ->
                peer.postReceive(1, pair.b.mr.slice(0, SHORT))
                cq.arm()
                send(1).from(pair.a.mr.slice(0, SHORT))
            }
        },
        "a region that was reregistered without remote writes" to {
            it.b.mr.reregister(AccessFlag.LOCAL_WRITE)
            it.write()
        },
        "a source that was closed" to {
            val key = it.a.pd.memoryRegion(SHORT)
            val slice = key.slice(0, SHORT)
            key.close()
            it.a.post { write(1, it.b.mr.remote()).from(slice).signaled() }
        },
        "a source of another protection domain" to {
            val other = it.a.context.protectionDomain().memoryRegion(SHORT)
            it.writeFrom(other)
        },
        "a target of another protection domain" to {
            it.write(it.b.context.protectionDomain().memoryRegion(SHORT, *WRITABLE))
        },
        "a source that is paged on demand" to { it.writeFrom(it.a.pd.memoryRegion(SHORT, AccessFlag.ON_DEMAND)) },
        "a target that is paged on demand" to {
            it.write(it.b.pd.memoryRegion(SHORT, *WRITABLE, AccessFlag.ON_DEMAND))
        },
        "a source that is a file" to { it.writeFrom(it.mapped(it.a)) },
        "a target that is a file" to { it.write(it.mapped(it.b)) },
        "a window" to { pair ->
            val region = pair.b.pd.memoryRegion(SHORT, AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND)
            val window = pair.b.pd.memoryWindow(MemoryWindowType.TYPE_1)
            window.bind(pair.b.qp, 3, region, 0, SHORT, AccessFlag.REMOTE_WRITE)
            pair.a.post { write(1, region.address(), window.rkey()).from(pair.a.mr.slice(0, SHORT)) }
        },
        "another rkey with the same index" to { pair ->
            pair.a.post { write(1, pair.b.mr.address(), pair.b.mr.rkey() xor 1).from(pair.a.mr.slice(0, SHORT)) }
        },
        "a byte outside the target" to { pair ->
            val beyond = pair.b.mr.address() + pair.b.mr.length() - SHORT + 1
            pair.a.post { write(1, beyond, pair.b.mr.rkey()).from(pair.a.mr.slice(0, SHORT)) }
        },
        "a read" to { pair -> pair.a.post { read(1, pair.b.mr.remote()).into(pair.a.mr.slice(0, SHORT)) } },
        "an atomic" to { pair -> pair.a.post { fetchAndAdd(1, pair.b.mr.remote(), 1).into(pair.a.mr.slice(0, 8)) } },
        "a list" to { pair ->
            pair.a.post { repeat(2) { write(1, pair.b.mr.remote()).from(pair.a.mr.slice(0, SHORT)).signaled() } }
        },
        "two entries" to { pair ->
            pair.a.post { write(1, pair.b.mr.remote()).from(pair.a.mr.slice(0, 8)).from(pair.a.mr.slice(8, 8)) }
        },
        "no bytes" to { pair -> pair.a.post { write(1, pair.b.mr.remote()).from(pair.a.mr.slice(0, 0)).signaled() } },
        "32 KiB" to { pair -> pair.a.post { write(1, pair.b.mr.remote()).from(pair.a.mr.slice(0, 1L shl 15)) } },
        "a send without a receive" to { pair -> pair.a.post { send(1).from(pair.a.mr.slice(0, SHORT)) } },
        "an unreliable connection" to { pair ->
            pair.with(
                QueuePairInitAttributes.of(QueuePairType.UC, pair.a.cq),
                QueuePairInitAttributes.of(QueuePairType.UC, pair.b.cq),
            )
        },
        "a counter" to { pair ->
            pair.with(change = { qp, _ -> pair.a.counter().attach(qp, CountedOperation.RDMA_WRITE) })
        },
        "a counter of the peer" to { pair ->
            pair.with(change = { _, peer -> pair.b.counter().attach(peer, CountedOperation.REMOTE_RDMA_WRITE) })
        },
        "the mark of congestion" to { pair ->
            pair.with(options = ConnectOptions.builder().trafficClass(3).build())
        },
        "a peer with another path MTU" to { it.connectedBy(peersOptions = SMALL) },
        "a peer that expects the sender's packets from another device" to { pair ->
            val third = pair.fabric.addDevice().open().queryGid(1, 1)
            pair.connectedBy { QueuePairEndpoint(it.lid(), third, it.queuePairNumber(), it.psn(), it.mtu(), it.qkey()) }
        },
        "a peer that expects the sender's next packet from another queue pair" to { pair ->
            pair.connectedBy {
                QueuePairEndpoint(it.lid(), it.gid(), pair.a.qp.number(), it.psn(), it.mtu(), it.qkey())
            }
        },
        "a peer of another type" to { it.with(far = QueuePairInitAttributes.of(QueuePairType.UC, it.b.cq)) },
        "a peer that is connected by other addresses" to { it.connectedBy(LINK_LOCAL, LINK_LOCAL) },
        "a peer that another queue pair has" to { pair ->
            val third = pair.a.pd.queuePair(QueuePairInitAttributes.of(QueuePairType.RC, pair.a.cq))
            third.connect(pair.b.qp.endpoint())
            third.postWith(Consumer { it.write(1, pair.b.mr.remote()).from(pair.a.mr.slice(0, SHORT)).signaled() })
        },
        "a peer that expects another number" to { pair ->
            pair.b.qp.become(QueuePairState.RESET)
            pair.b.qp.connect(pair.a.qp.endpoint())
            pair.write()
        },
        "a queue pair that is its own peer" to { pair ->
            val qp = pair.b.pd.queuePair(QueuePairInitAttributes.of(QueuePairType.RC, pair.b.cq))
            qp.connect(qp.endpoint())
            val slice = pair.b.mr.slice(0, SHORT)
            qp.postWith(Consumer { it.write(1, pair.b.mr.remote()).from(slice).signaled() })
        },
        "timestamps" to { pair ->
            val stamped = CompletionQueueOptions.NONE.with(CompletionField.TIMESTAMP)
            val cq = pair.a.context.completionQueue(CompletionQueueAttributes.of(64).with(stamped))
            pair.with(QueuePairInitAttributes.of(QueuePairType.RC, cq))
        },
        "a shared receive queue" to { pair ->
            val srq = pair.b.pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(4, 1))
            srq.postReceive(1, pair.b.mr.slice(0, SHORT))
            val shared = QueuePairInitAttributes.of(QueuePairType.RC, pair.b.cq).with(srq)
            pair.with(far = shared) { send(1).from(pair.a.mr.slice(0, SHORT)) }
        },
    )

private fun End.counter(): CompletionCounter = context.completionCounter()

class DirectSwitchSpec :
    FunSpec({
        for ((what, change) in changes) {
            test("should leave a message to the usual path after a direct one, because of $what") {
                Pair(EmbeddedFabric.realTime(1)).use { pair ->
                    pair.write()
                    pair.direct() shouldBe 1
                    pair.a.take(1).single().orThrow()
                    val receives = if (what == "an armed completion queue of the peer") 1 else 0
                    change(pair)
                    withClue("direct messages") { pair.direct() shouldBe 1 + receives }
                }
            }
        }

        val passing =
            mapOf<String, kotlin.Pair<(Pair) -> Unit, (Pair) -> Unit>>(
                "faults" to
                    kotlin.Pair(
                        { it.fabric.setFaults(Faults.NONE.duplication(0.1)) },
                        { it.fabric.setFaults(Faults.NONE) },
                    ),
                "a lost address" to
                    kotlin.Pair(
                        { it.fabric.addressDown(it.a.context.queryGid(1, 0)) },
                        { it.fabric.addressUp(it.a.context.queryGid(1, 0)) },
                    ),
                "a link that is down" to
                    kotlin.Pair({ it.fabric.linkDown(it.server) }, { it.fabric.linkUp(it.server) }),
                "SQD of the sender" to
                    kotlin.Pair(
                        { it.a.qp.become(QueuePairState.SQD) },
                        { it.a.qp.become(QueuePairState.RTS) },
                    ),
                "SQD of the peer" to
                    kotlin.Pair(
                        { it.b.qp.become(QueuePairState.SQD) },
                        { it.b.qp.become(QueuePairState.RTS) },
                    ),
                "a rate limit" to
                    kotlin.Pair(
                        { it.a.qp.limitRate(RateLimit.ofKbps(1_000_000)) },
                        { it.a.qp.limitRate(RateLimit.NONE) },
                    ),
            )
        for ((what, change) in passing) {
            test("should carry out messages directly again after $what") {
                Pair(EmbeddedFabric.realTime(1)).use { pair ->
                    change.first(pair)
                    change.second(pair)
                    pair.write()
                    pair.direct() shouldBe 1
                }
            }
        }

        test("should find the queue pair that is the peer now, after the former one was closed") {
            Pair(EmbeddedFabric.realTime(1)).use { pair ->
                pair.write()
                pair.b.qp.close()
                pair.a.qp.become(QueuePairState.RESET)
                val next = pair.b.pd.queuePair(QueuePairInitAttributes.of(QueuePairType.RC, pair.b.cq))
                pair.a.qp.connect(next.endpoint())
                next.connect(pair.a.qp.endpoint())
                pair.write()
                pair.direct() shouldBe 2
                pair.a.take(1).single().orThrow()
            }
        }
    })
