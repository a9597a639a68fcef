package org.kverbs.acceptance.lab

import org.kverbs.WorkCompletionOpcode
import org.kverbs.WorkCompletionStatus
import org.kverbs.attributes.Feature
import org.kverbs.attributes.MemoryWindowType
import org.kverbs.attributes.QueuePairType
import java.io.Serializable

/**
 * One of two ends that may be in another process: a device, memory and one queue pair. Endpoints and remote memory are
 * in the text form of the core. [Station] is the real end, [FarSide] one in another process.
 */
internal interface Side {
    /** Makes a queue pair, and closes the former one. Returns its endpoint. */
    fun open(
        type: QueuePairType,
        patience: Patience,
        making: Making,
    ): String

    /** Connects to the other side's queue pair. A datagram queue pair will send to it. */
    fun connect(endpoint: String)

    /** Closes the queue pair, as the kernel does for a process that dies. */
    fun closeQueuePair()

    /** Returns all of the memory, as the other side needs it. */
    fun memory(): String

    /** Writes the pattern of a [seed]. */
    fun fill(
        piece: Piece,
        seed: Int,
    )

    /** Returns the offset of the first byte that differs from the pattern of a [seed], or -1 if none does. */
    fun mismatch(
        piece: Piece,
        seed: Int,
    ): Long

    /** Returns the bytes of a piece. */
    fun read(piece: Piece): ByteArray

    /** Returns 8 bytes as a number, in host order. */
    fun long(offset: Long): Long

    fun putLong(
        offset: Long,
        value: Long,
    )

    /** Posts a receive. For a datagram queue pair the [id] is the offset of its memory. */
    fun receive(
        id: Long,
        into: List<Piece>,
    )

    /** Posts requests in one call. */
    fun post(requests: List<Request>)

    /** Waits for this many completions, and returns them in order. */
    fun take(count: Int): List<Done>

    /** Returns completions in order until none comes for a while. */
    fun takeRest(): List<Done>

    /** Tells whether no completion comes for a while. */
    fun isIdle(): Boolean

    /**
     * Binds a window for reading and writing to a piece, and returns it as the other side needs it. A window of type 2
     * is bound by a request of the queue pair.
     */
    fun bindWindow(
        piece: Piece,
        type: MemoryWindowType,
    ): String

    /** Joins a multicast group, to receive its messages and to send to it. */
    fun join(group: String)

    /** Starts to [talk] by the connection manager, and returns when a client may connect. */
    fun startTalk(
        program: String,
        role: String,
        address: String,
        port: Int,
    )

    /** Waits for the end of the talk, which must have succeeded. */
    fun endTalk()

    /** Runs one command line of `kverbs`; returns its exit status and its output. */
    fun kverbs(arguments: List<String>): Pair<Int, String>
}

/** A part of a side's memory. */
internal data class Piece(
    val offset: Long,
    val length: Int,
) : Serializable

/** The timeout and the retries of a queue pair, as codes of `struct ibv_qp_attr`. */
internal data class Patience(
    val timeout: Int = 14,
    val retries: Int = 7,
    val rnrRetries: Int = 7,
    val minRnrTimer: Int = 12,
) : Serializable

/**
 * How a side makes its queue pair.
 *
 * @property features what the queue pair can do besides; it is extended then
 * @property extended whether the queue pair and its completion queue are made and used by the extended calls
 * @property shared whether the queue pair receives from a shared receive queue
 * @property events whether the side waits for events of a completion channel, and does not only poll
 */
internal data class Making(
    val features: List<Feature> = emptyList(),
    val extended: Boolean = false,
    val shared: Boolean = false,
    val events: Boolean = false,
) : Serializable

internal enum class Operation(
    val completes: WorkCompletionOpcode,
) {
    SEND(WorkCompletionOpcode.SEND),
    SEND_WITH_IMMEDIATE(WorkCompletionOpcode.SEND),
    SEND_WITH_INVALIDATE(WorkCompletionOpcode.SEND),
    WRITE(WorkCompletionOpcode.RDMA_WRITE),
    WRITE_WITH_IMMEDIATE(WorkCompletionOpcode.RDMA_WRITE),
    READ(WorkCompletionOpcode.RDMA_READ),
    COMPARE_AND_SWAP(WorkCompletionOpcode.COMP_SWAP),
    FETCH_AND_ADD(WorkCompletionOpcode.FETCH_ADD),
    ATOMIC_WRITE(WorkCompletionOpcode.ATOMIC_WRITE),
    FLUSH(WorkCompletionOpcode.FLUSH),
}

/**
 * A work request, always signaled.
 *
 * @property pieces the pieces that it gathers or fills
 * @property remote for one-sided operations
 * @property word immediate data, or the key to invalidate
 * @property number the operand to compare, to add or to write, or the bytes to flush
 * @property swap the new value of a swap
 * @property inline whether the request carries the bytes of its pieces, at most 64
 */
internal data class Request(
    val id: Long,
    val operation: Operation,
    val pieces: List<Piece> = emptyList(),
    val remote: String? = null,
    val word: Int = 0,
    val number: Long = 0,
    val swap: Long = 0,
    val fenced: Boolean = false,
    val inline: Boolean = false,
) : Serializable

/**
 * A completion.
 *
 * @property sender the GID of a datagram's sender, from the routing header; only on the receiving side
 */
internal data class Done(
    val id: Long,
    val status: WorkCompletionStatus,
    val opcode: WorkCompletionOpcode,
    val bytes: Long,
    val immediate: Int?,
    val sourceQueuePair: Int,
    val sender: String?,
) : Serializable
