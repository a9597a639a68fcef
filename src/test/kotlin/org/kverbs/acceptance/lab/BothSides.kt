package org.kverbs.acceptance.lab

import io.kotest.assertions.withClue
import io.kotest.matchers.shouldBe
import org.kverbs.RemoteMemory
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.WorkCompletionOpcode.RECV_RDMA_WITH_IMM
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.acceptance.contract.await
import org.kverbs.acceptance.lab.Operation.READ
import org.kverbs.acceptance.lab.Operation.SEND_WITH_IMMEDIATE
import org.kverbs.acceptance.lab.Operation.WRITE
import org.kverbs.acceptance.lab.Operation.WRITE_WITH_IMMEDIATE
import org.kverbs.attributes.QueuePairEndpoint
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.QueuePairType.UD

/** The offset at which a side receives and is written to; the sources are before it. */
internal const val TARGET = 6L shl 20

private const val MIB = 1 shl 20

/** The requesting side. */
internal enum class Direction(
    private val text: String,
) {
    TO_SOFT_ROCE("from embedded to Soft-RoCE"),
    TO_EMBEDDED("from Soft-RoCE to embedded"),
    ;

    override fun toString() = text
}

/**
 * The embedded device in another process, and Soft-RoCE in this one; shared by all specs, since each start takes
 * seconds in an emulated machine.
 */
internal object BothSides {
    private val near by lazy { Station(SoftRoceWire.device) }
    private val nearIpv6 by lazy { Station(SoftRoceWire.device, SoftRoceWire.HERE_IPV6) }

    /** Runs [block] on two new queue pairs that are connected. */
    fun linked(
        direction: Direction,
        type: QueuePairType,
        patience: Patience = Patience(),
        ipv6: Boolean = false,
        making: Making = Making(),
        block: Linked.() -> Unit,
    ) {
        val far = FarSide.running(if (ipv6) SoftRoceWire.THERE_IPV6 else SoftRoceWire.THERE)
        val here = if (ipv6) nearIpv6 else near
        val ends = if (direction == Direction.TO_SOFT_ROCE) far to here else here to far
        Linked(ends.first, ends.second, type, patience, making).block()
    }
}

/** Two connected queue pairs; requests go [from] one [to] the other. */
internal class Linked(
    val from: Side,
    val to: Side,
    type: QueuePairType,
    patience: Patience,
    making: Making = Making(),
) {
    private val sender = QueuePairEndpoint.parse(from.open(type, patience, making))
    private val memory = RemoteMemory.parse(to.memory())
    private var seed = 0

    val sendsDatagrams: Boolean = type == UD
    val fromNumber: Int = sender.queuePairNumber()
    val fromAddress: String = if (from is FarSide) SoftRoceWire.THERE else SoftRoceWire.HERE
    val fromIpv6: String = if (from is FarSide) SoftRoceWire.THERE_IPV6 else SoftRoceWire.HERE_IPV6

    init {
        val receiver = to.open(type, patience, making)
        from.connect(receiver)
        to.connect(sender.toText())
    }

    /**
     * Message sizes around the path MTU and far beyond. UC loses a part of a message that is larger than the sockets'
     * buffers.
     */
    fun sizes(type: QueuePairType): List<Int> =
        listOf(0, 1, 4096, 4097, MIB) + if (type == RC) listOf(4 * MIB) else emptyList()

    /** The peer's memory from an offset into its [TARGET] on. */
    fun at(offset: Long): String = memory.at(TARGET + offset).toText()

    /** Ends the peer: its process, or for Soft-RoCE the kernel's objects of a process. */
    fun die() = if (to is FarSide) to.close() else to.closeQueuePair()

    /** Sends or writes a message and checks the arrived bytes, and that the byte behind them is unchanged. */
    fun carry(
        operation: Operation,
        size: Int,
    ) = withClue("$operation of $size bytes") {
        val target = Piece(TARGET, size)
        from.fill(Piece(0, size), ++seed)
        to.fill(target, ++seed)
        to.putLong(TARGET + size, GUARD)
        val writes = operation == WRITE || operation == WRITE_WITH_IMMEDIATE
        val receives = operation != WRITE
        if (receives) to.receive(RECEIVE, listOf(target).filter { !writes && size > 0 })
        val remote = if (writes) at(0) else null
        from.post(listOf(Request(1, operation, listOf(Piece(0, size)).filter { size > 0 }, remote, word = -seed)))
        if (receives) {
            val immediate = if (operation == SEND_WITH_IMMEDIATE || operation == WRITE_WITH_IMMEDIATE) -seed else null
            val received = to.take(1).single()
            received.status shouldBe SUCCESS
            received.id shouldBe RECEIVE
            received.opcode shouldBe if (writes) RECV_RDMA_WITH_IMM else RECV
            received.bytes shouldBe size
            received.immediate shouldBe immediate
        }
        from.take(1).single().shouldBe(1, operation)
        // On UC a completed write has only been sent.
        await("the bytes of $operation") { to.mismatch(target, seed - 1) < 0 }
        to.long(TARGET + size) shouldBe GUARD
    }

    /** Reads the peer's memory and checks the bytes. */
    fun read(size: Int) =
        withClue("a read of $size bytes") {
            to.fill(Piece(TARGET, size), ++seed)
            from.fill(Piece(0, size), ++seed)
            from.putLong(size.toLong(), GUARD)
            from.post(listOf(Request(1, READ, listOf(Piece(0, size)).filter { size > 0 }, at(0))))
            from.take(1).single().shouldBe(1, READ)
            from.mismatch(Piece(0, size), seed - 1) shouldBe -1
            from.long(size.toLong()) shouldBe GUARD
        }

    private companion object {
        const val RECEIVE = 7L
        const val GUARD = 0x0123456789abcdef
    }
}

/** Checks a success. */
internal fun Done.shouldBe(
    id: Long,
    operation: Operation,
) = withClue(toString()) {
    status shouldBe SUCCESS
    this.id shouldBe id
    opcode shouldBe operation.completes
}
