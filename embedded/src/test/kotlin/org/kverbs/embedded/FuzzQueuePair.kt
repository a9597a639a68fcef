package org.kverbs.embedded

import io.kotest.matchers.shouldBe
import org.kverbs.AddressHandle
import org.kverbs.CompletionQueue
import org.kverbs.MemoryWindow
import org.kverbs.ProtectionDomain
import org.kverbs.QueuePair
import org.kverbs.QueuePairInitAttributes
import org.kverbs.ReceiveRequests
import org.kverbs.RemoteMemory
import org.kverbs.SendRequests
import org.kverbs.SharedReceiveQueue
import org.kverbs.WorkRequestException
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.AddressAttributes
import org.kverbs.attributes.Feature
import org.kverbs.attributes.FlushPlacement
import org.kverbs.attributes.GlobalRoute
import org.kverbs.attributes.MemoryWindowType
import org.kverbs.attributes.Mtu
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairAttributesBuilder
import org.kverbs.attributes.QueuePairCapabilities
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairState.ERR
import org.kverbs.attributes.QueuePairState.INIT
import org.kverbs.attributes.QueuePairState.RESET
import org.kverbs.attributes.QueuePairState.RTR
import org.kverbs.attributes.QueuePairState.RTS
import org.kverbs.attributes.QueuePairState.SQD
import org.kverbs.attributes.QueuePairType
import org.kverbs.embedded.internal.transport.Inside
import org.kverbs.embedded.internal.transport.InsideQueuePair
import kotlin.random.Random

/** Describes a queue pair that gets fuzzed packets. */
internal data class FuzzKind(
    val type: QueuePairType,
    val state: QueuePairState = RTS,
    val mtu: Mtu = Mtu.MTU_256,
    val shared: Boolean = false,
    val access: Set<AccessFlag> = REMOTE,
    val reads: Int = 4,
    val timeout: Int = 8,
    val receives: Int = 8,
    val places: Boolean = false,
) {
    companion object {
        private val REMOTE =
            setOf(
                AccessFlag.REMOTE_READ,
                AccessFlag.REMOTE_WRITE,
                AccessFlag.REMOTE_ATOMIC,
                AccessFlag.FLUSH_GLOBAL,
            )

        /** All types in all states; states that take packets come more often. */
        val ALL =
            listOf(
                FuzzKind(QueuePairType.RC),
                FuzzKind(QueuePairType.RC, places = true),
                FuzzKind(QueuePairType.RC, shared = true, mtu = Mtu.MTU_1024),
                FuzzKind(QueuePairType.RC, access = emptySet()),
                FuzzKind(QueuePairType.RC, reads = 0),
                FuzzKind(QueuePairType.RC, reads = 1, timeout = 0, mtu = Mtu.MTU_4096),
                FuzzKind(QueuePairType.RC, receives = 0),
                FuzzKind(QueuePairType.RC, SQD),
                FuzzKind(QueuePairType.RC, RTR),
                FuzzKind(QueuePairType.RC, INIT),
                FuzzKind(QueuePairType.RC, RESET),
                FuzzKind(QueuePairType.RC, ERR),
                FuzzKind(QueuePairType.UC),
                FuzzKind(QueuePairType.UC, shared = true, mtu = Mtu.MTU_1024),
                FuzzKind(QueuePairType.UC, RTR, receives = 0),
                FuzzKind(QueuePairType.UD),
                FuzzKind(QueuePairType.UD, shared = true),
                FuzzKind(QueuePairType.UD, INIT),
            )
    }
}

/** Holds what the queue pairs share. */
internal class FuzzBench(
    val pd: ProtectionDomain,
    val memory: FuzzMemory,
    val cq: CompletionQueue,
    val srq: SharedReceiveQueue,
    val inside: Inside,
    val random: Random,
) {
    val address: AddressHandle = pd.addressHandle(PATH)

    companion object {
        const val QKEY = 0x1234567
        const val PEER_QP = 0x4711
        val PATH: AddressAttributes =
            AddressAttributes.builder().port(1).globalRoute(GlobalRoute(FuzzSpec.PEER, 0, 0, 64, 0)).build()
    }
}

/** A queue pair that is made anew when packets moved it out of its state. */
internal class FuzzQueuePair(
    val kind: FuzzKind,
    private val bench: FuzzBench,
) {
    private val random = bench.random
    private val list = SendRequests()
    private val capabilities = QueuePairCapabilities(8, kind.receives, 3, if (kind.receives == 0) 0 else 3, 64)
    var qp: QueuePair = make()
        private set
    var inside: InsideQueuePair = bench.inside.queuePair(qp.number())
        private set

    /** A type 2 window bound by the queue pair, with a key for reads, writes and atomics. */
    var window: MemoryWindow? = null
        private set
    var windowKey = 0
        private set
    var remade = 0L
        private set

    init {
        setUp()
    }

    private fun make(): QueuePair {
        val srq = if (kind.shared) bench.srq else null
        val placing = if (kind.places) setOf(Feature.ATOMIC_WRITE, Feature.FLUSH) else emptySet()
        return bench.pd.queuePair(
            QueuePairInitAttributes(
                kind.type,
                bench.cq,
                bench.cq,
                srq,
                capabilities,
                false,
                kind.places,
                placing,
            ),
        )
    }

    /** Starts again, with the same queue pair or another. */
    fun remake() {
        remade++
        window?.close()
        window = null
        if (random.nextInt(16) == 0) {
            qp.close()
            qp = make()
            inside = bench.inside.queuePair(qp.number())
        } else {
            qp.modify(QueuePairAttributes.builder().state(RESET).build())
        }
        setUp()
    }

    val isInItsState: Boolean get() = inside.state == kind.state.code()

    fun checkCursors() {
        if (kind.type == QueuePairType.RC && inside.state == RTS.code()) inside.checkCursors()
    }

    private fun modify(
        to: QueuePairState,
        more: QueuePairAttributesBuilder.() -> Unit = {},
    ) = qp.modify(
        QueuePairAttributes
            .builder()
            .state(to)
            .apply(more)
            .build(),
    )

    private fun psn() = if (random.nextBoolean()) random.nextInt(1 shl 24) else 0xffffff - random.nextInt(40)

    private fun setUp() {
        if (kind.state == RESET) return
        val datagram = kind.type == QueuePairType.UD
        val reliable = kind.type == QueuePairType.RC
        modify(INIT) {
            pkeyIndex(0).port(1)
            if (datagram) qkey(FuzzBench.QKEY) else accessFlags(kind.access)
        }
        refill()
        if (kind.state == INIT) return
        modify(RTR) {
            if (!datagram) address(FuzzBench.PATH).pathMtu(kind.mtu).destQpn(FuzzBench.PEER_QP).rqPsn(psn())
            if (reliable) maxDestReadAtomic(kind.reads).minRnrTimer(1)
        }
        if (kind.state == RTR) return
        modify(RTS) {
            sqPsn(psn())
            if (reliable) timeout(kind.timeout).retryCount(7).rnrRetry(7).maxReadAtomic(4)
        }
        refill()
        if (reliable) bindWindow()
        if (kind.state == SQD || kind.state == ERR) modify(kind.state)
    }

    private fun bindWindow() {
        val made = bench.pd.memoryWindow(MemoryWindowType.TYPE_2)
        windowKey = MemoryWindow.nextRkey(made.rkey())
        val slice =
            bench.memory.windowed.region.slice(
                FuzzArea.MIDDLE.first,
                FuzzArea.MIDDLE.last + 1 - FuzzArea.MIDDLE.first,
            )
        val access = AccessFlag.mask(AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC)
        post { bind(1, made, windowKey, slice, access) }
        window = made
    }

    /** Posts receives and sends if only few are left. */
    fun refill() {
        if (kind.state == RESET) return
        if (inside.receives < 2 && (kind.shared || kind.receives > 0)) {
            val requests = ReceiveRequests()
            repeat(4) {
                requests.receive(it.toLong())
                repeat(random.nextInt(4)) { requests.into(inMiddle(bench.memory.receives, random.nextLong(3000))) }
            }
            try {
                if (kind.shared) bench.srq.postReceive(requests) else qp.postReceive(requests)
            } catch (e: WorkRequestException) {
                e.errnoName() shouldBe "ENOMEM" // the bench has not polled the completions of the earlier requests yet
            }
        }
        if (inside.state == RTS.code() && inside.sends < 3) {
            post { repeat(1 + random.nextInt(4)) { request() } }
        }
    }

    /**
     * The last request is signaled, so that all have their slots again when the bench polls. Until then a full queue
     * takes no more.
     */
    private fun post(requests: SendRequests.() -> Unit) = qp.tryPost(list.apply { clear() }.apply(requests).signaled())

    private fun inMiddle(
        area: FuzzArea,
        bytes: Long,
    ) = area.region.slice(random.nextLong(FuzzArea.MIDDLE.first, FuzzArea.MIDDLE.last + 1 - bytes), bytes)

    private fun operations() =
        if (kind.places) {
            8
        } else if (kind.type == QueuePairType.RC) {
            6
        } else {
            4
        }

    private fun SendRequests.request() {
        val remote = RemoteMemory(0x7000_0000, 1 shl 20, 0x55)
        val bytes = random.nextLong(3000)
        when (if (kind.type == QueuePairType.UD) 0 else random.nextInt(operations())) {
            0 -> send(2)
            1 -> write(3, remote)
            2 -> writeWithImmediate(4, remote, 5)
            3 -> sendWithImmediate(6, 7)
            6 -> atomicWrite(10, remote, 1)
            7 -> flush(11, remote, FlushPlacement.GLOBAL)
            4 -> read(8, remote).into(inMiddle(bench.memory.sink, bytes))
            else -> fetchAndAdd(9, remote, 1).into(inMiddle(bench.memory.sink, 8))
        }
        if (kind.type == QueuePairType.UD) to(bench.address, FuzzBench.PEER_QP, FuzzBench.QKEY)
        if (random.nextBoolean()) signaled()
    }
}
