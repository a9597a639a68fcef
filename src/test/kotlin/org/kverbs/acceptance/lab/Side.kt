package org.kverbs.acceptance.lab

import org.kverbs.QueuePairType
import org.kverbs.WorkCompletionOpcode
import org.kverbs.WorkCompletionStatus
import java.io.Serializable

/**
 * One of two ends that may be in another process: a device, memory of it and one queue pair. Endpoints and remote
 * memory are in the text form of the core. [Station] is the real one, [FarSide] one in another process.
 */
internal interface Side {
    /** Makes a queue pair, and closes the one there was. Gives its endpoint. */
    fun open(
        type: QueuePairType,
        patience: Patience,
    ): String

    /** Connects to the other side's queue pair; one for datagrams will send to it. */
    fun connect(endpoint: String)

    /** Closes the queue pair, as the kernel does for a process that dies. */
    fun closeQueuePair()

    /** All of its memory, as the other side needs it. */
    fun memory(): String

    /** Writes the pattern of a [seed]. */
    fun fill(
        piece: Piece,
        seed: Int,
    )

    /** Where the pattern of a [seed] ends to be there: an offset into the piece, or -1 if all of it is. */
    fun mismatch(
        piece: Piece,
        seed: Int,
    ): Long

    /** The bytes that are there. */
    fun read(piece: Piece): ByteArray

    /** 8 bytes, in host order. */
    fun long(offset: Long): Long

    fun putLong(
        offset: Long,
        value: Long,
    )

    /** Posts a receive; of one for datagrams the [id] is where its memory begins. */
    fun receive(
        id: Long,
        into: List<Piece>,
    )

    /** Posts in one call. */
    fun post(requests: List<Request>)

    /** Waits for so many completions, and gives them in order. */
    fun take(count: Int): List<Done>

    /** Takes what completes, in order, until nothing has for a while. */
    fun takeRest(): List<Done>

    /** Whether nothing completes for a while. */
    fun isIdle(): Boolean

    /** Binds a type 2 window for reading and writing to a piece, and gives it as the other side needs it. */
    fun bindWindow(piece: Piece): String

    /** Gets what is sent to a multicast group, and sends to it. */
    fun join(group: String)

    /** Starts to [talk] by the connection manager, and returns when a client may come to a server. */
    fun startTalk(
        program: String,
        role: String,
        address: String,
        port: Int,
    )

    /** Waits for the end of what [startTalk] began, which must have gone well. */
    fun endTalk()

    /** Runs one command line of `kverbs`; gives its exit status and all that it printed. */
    fun kverbs(arguments: List<String>): Pair<Int, String>
}

/** A part of the memory of a side. */
internal data class Piece(
    val offset: Long,
    val length: Int,
) : Serializable

/** How long and how often a queue pair tries; the codes of `struct ibv_qp_attr`. */
internal data class Patience(
    val timeout: Int = 14,
    val retries: Int = 7,
    val rnrRetries: Int = 7,
    val minRnrTimer: Int = 12,
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
}

/**
 * A work request, always signaled.
 *
 * @property pieces what it gathers or fills
 * @property remote for one-sided operations
 * @property word immediate data, or the key to invalidate
 * @property number what is compared, or added
 * @property swap what is put in its place
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
) : Serializable

/**
 * A completion.
 *
 * @property sender of a datagram to this side alone: its GID by the routing header that came before it
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
