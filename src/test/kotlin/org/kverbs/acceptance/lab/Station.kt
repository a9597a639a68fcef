package org.kverbs.acceptance.lab

import org.kverbs.AddressHandle
import org.kverbs.CompletionChannel
import org.kverbs.CompletionQueueAttributes
import org.kverbs.Device
import org.kverbs.MemoryWindow
import org.kverbs.QueuePairInitAttributes
import org.kverbs.ReceiveRequests
import org.kverbs.RemoteMemory
import org.kverbs.SendRequests
import org.kverbs.SharedReceiveQueue
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletions
import org.kverbs.acceptance.contract.CAPABILITIES
import org.kverbs.acceptance.contract.DEADLINE
import org.kverbs.acceptance.contract.End
import org.kverbs.acceptance.contract.PORT
import org.kverbs.acceptance.contract.REMOTE
import org.kverbs.acceptance.contract.pattern
import org.kverbs.acceptance.contract.take
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.AccessFlag.MW_BIND
import org.kverbs.attributes.AccessFlag.REMOTE_READ
import org.kverbs.attributes.AccessFlag.REMOTE_WRITE
import org.kverbs.attributes.AddressAttributes
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.Feature
import org.kverbs.attributes.FlushPlacement
import org.kverbs.attributes.Gid
import org.kverbs.attributes.MemoryWindowType
import org.kverbs.attributes.QueuePairEndpoint
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.SharedReceiveQueueAttributes
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED
import java.util.concurrent.CompletableFuture
import java.util.concurrent.TimeUnit
import kotlin.time.toJavaDuration
import org.kverbs.cli.kverbs as runKverbs

private const val MEMORY = 12L shl 20
private const val MULTICAST_QPN = 0xffffff
private const val WINDOW_BOUND = -7L
private const val QUIET_POLLS = 100

private fun flushable(supported: Boolean) = if (supported) arrayOf(AccessFlag.FLUSH_GLOBAL) else emptyArray()

/**
 * A side in this process, on a named device, at its default address or at another one. Closing it closes the device.
 */
internal class Station(
    private val device: String,
    address: String? = null,
) : Side,
    AutoCloseable {
    private val context = Device.byName(device).open()
    private val gidIndex =
        context.queryGidTable().firstOrNull { it.gid().toCompactString() == address }?.index()
            ?: context.defaultGidIndex(PORT)
    private val pd = context.protectionDomain()
    private val region =
        pd.memoryRegion(MEMORY, LOCAL_WRITE, MW_BIND, *REMOTE, *flushable(context.supports(Feature.FLUSH)))
    private val patterns = mutableMapOf<Pair<Int, Int>, MemorySegment>()
    private lateinit var end: End
    private var channel: CompletionChannel? = null
    private var srq: SharedReceiveQueue? = null
    private lateinit var options: ConnectOptions
    private lateinit var talk: CompletableFuture<Unit>
    private var opened = false
    private var destination: Pair<AddressHandle, Int>? = null

    override fun open(
        type: QueuePairType,
        patience: Patience,
        making: Making,
    ): String {
        closeQueuePair()
        channel = if (making.events) context.completionChannel() else null
        srq = if (making.shared) pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(64, 4)) else null
        val cq = context.completionQueue(CompletionQueueAttributes(128, channel, 0, making.extended))
        var attributes = QueuePairInitAttributes.of(type, cq).with(CAPABILITIES)
        srq?.let { attributes = attributes.with(it) }
        if (making.extended || making.features.isNotEmpty()) {
            attributes = attributes.asExtended(*making.features.toTypedArray())
        }
        end = End(pd.queuePair(attributes), cq, region)
        options =
            ConnectOptions
                .builder()
                .timeout(patience.timeout)
                .retryCount(patience.retries)
                .rnrRetry(patience.rnrRetries)
                .minRnrTimer(patience.minRnrTimer)
                .gidIndex(gidIndex)
                .build()
        opened = true
        return end.qp.endpoint(options).toText()
    }

    override fun closeQueuePair() {
        if (opened) {
            end.qp.close()
            srq?.close()
            end.cq.close()
            channel?.close()
        }
        opened = false
        destination = null
    }

    override fun connect(endpoint: String) {
        val remote = QueuePairEndpoint.parse(endpoint)
        if (end.qp.type() == QueuePairType.UD) {
            end.qp.activate(options)
            destination = end.qp.addressHandle(remote, options) to remote.queuePairNumber()
        } else {
            end.qp.connect(remote, options)
        }
    }

    override fun memory(): String = region.remote().toText()

    override fun fill(
        piece: Piece,
        seed: Int,
    ) {
        segment(piece).copyFrom(patternOf(piece, seed))
    }

    override fun mismatch(
        piece: Piece,
        seed: Int,
    ): Long = segment(piece).mismatch(patternOf(piece, seed))

    /** Patterns are kept, since an emulated machine takes long to make them. */
    private fun patternOf(
        piece: Piece,
        seed: Int,
    ) = patterns.getOrPut(piece.length to seed) { MemorySegment.ofArray(pattern(piece.length, seed)) }

    private fun segment(piece: Piece) = region.memory().asSlice(piece.offset, piece.length.toLong())

    private fun slice(piece: Piece) = region.slice(piece.offset, piece.length.toLong())

    override fun read(piece: Piece): ByteArray = segment(piece).toArray(JAVA_BYTE)

    override fun long(offset: Long): Long = region.memory().get(JAVA_LONG_UNALIGNED, offset)

    override fun putLong(
        offset: Long,
        value: Long,
    ) = region.memory().set(JAVA_LONG_UNALIGNED, offset, value)

    override fun receive(
        id: Long,
        into: List<Piece>,
    ) {
        val requests = ReceiveRequests()
        requests.receive(id)
        into.forEach { requests.into(slice(it)) }
        srq?.postReceive(requests) ?: end.qp.postReceive(requests)
    }

    override fun post(requests: List<Request>) =
        end.post {
            requests.forEach { request ->
                begin(request)
                request.pieces.forEach { if (request.inline) inline(segment(it)) else from(slice(it)) }
                destination?.let { (address, number) -> to(address, number, ConnectOptions.DEFAULT_QKEY) }
                if (request.fenced) fence()
                signaled()
            }
        }

    private fun SendRequests.begin(request: Request): SendRequests {
        val remote = request.remote?.let(RemoteMemory::parse)
        val address = remote?.address() ?: 0
        val key = remote?.rkey() ?: 0
        return when (request.operation) {
            Operation.SEND -> send(request.id)
            Operation.SEND_WITH_IMMEDIATE -> sendWithImmediate(request.id, request.word)
            Operation.SEND_WITH_INVALIDATE -> sendWithInvalidate(request.id, request.word)
            Operation.WRITE -> write(request.id, address, key)
            Operation.WRITE_WITH_IMMEDIATE -> writeWithImmediate(request.id, address, key, request.word)
            Operation.READ -> read(request.id, address, key)
            Operation.COMPARE_AND_SWAP -> compareAndSwap(request.id, address, key, request.number, request.swap)
            Operation.FETCH_AND_ADD -> fetchAndAdd(request.id, address, key, request.number)
            Operation.ATOMIC_WRITE -> atomicWrite(request.id, address, key, request.number)
            Operation.FLUSH -> flush(request.id, address, request.number, key, FlushPlacement.GLOBAL)
        }
    }

    override fun take(count: Int): List<Done> =
        if (channel == null) {
            end.cq.take(count).map(::done)
        } else {
            end.cq.await(count, DEADLINE.toJavaDuration()).map(::done)
        }

    private fun done(completion: WorkCompletion) =
        Done(
            completion.workRequestId(),
            completion.status(),
            completion.opcode(),
            if (completion.isSuccess) completion.byteLength() else 0,
            if (completion.isSuccess && completion.opcode().isReceive && completion.hasImmediate()) {
                completion.immediate()
            } else {
                null
            },
            completion.sourceQueuePair(),
            if (completion.isSuccess && completion.opcode().isReceive && isUnicast()) sender(completion) else null,
        )

    private fun isUnicast() = destination?.let { (_, number) -> number != MULTICAST_QPN } ?: false

    /** Returns the sender of a datagram, whose receive's id is the offset of its buffer. */
    private fun sender(completion: WorkCompletion): String? =
        pd
            .addressOf(PORT, completion, region.memory().asSlice(completion.workRequestId()))
            .globalRoute()
            ?.dgid()
            ?.toCompactString()

    override fun takeRest(): List<Done> {
        val batch = WorkCompletions(1)
        val rest = ArrayList<Done>()
        var quiet = 0
        while (quiet < QUIET_POLLS) {
            if (end.cq.poll(batch) > 0) {
                rest += done(batch[0])
                quiet = 0
            } else {
                quiet++
                Thread.sleep(1)
            }
        }
        return rest
    }

    override fun isIdle(): Boolean {
        val batch = WorkCompletions(1)
        repeat(QUIET_POLLS) {
            if (end.cq.poll(batch) > 0) return false
            Thread.sleep(1)
        }
        return true
    }

    override fun bindWindow(
        piece: Piece,
        type: MemoryWindowType,
    ): String {
        val window = pd.memoryWindow(type)
        val key = MemoryWindow.nextRkey(window.rkey())
        if (type == MemoryWindowType.TYPE_2) {
            end.post {
                bind(
                    WINDOW_BOUND,
                    window,
                    key,
                    slice(piece),
                    AccessFlag.mask(REMOTE_READ, REMOTE_WRITE),
                ).signaled()
            }
        } else {
            window.bind(
                end.qp,
                WINDOW_BOUND,
                region,
                piece.offset,
                piece.length.toLong(),
                REMOTE_READ,
                REMOTE_WRITE,
            )
        }
        end.cq
            .take(1)
            .single()
            .orThrow()
        val bound = if (type == MemoryWindowType.TYPE_2) key else window.rkey()
        return window.remote(slice(piece), bound).toText()
    }

    override fun join(group: String) {
        val gid = Gid.parse(group)
        end.qp.attachMulticast(gid, 0)
        destination = pd.addressHandle(AddressAttributes.toGid(gid, gidIndex, PORT)) to MULTICAST_QPN
    }

    override fun startTalk(
        program: String,
        role: String,
        address: String,
        port: Int,
    ) {
        val listening = CompletableFuture<Unit>()
        val whole = inThread { talk(device, program, role, address, port) { listening.complete(Unit) } }
        if (role == "server") CompletableFuture.anyOf(listening, whole).join()
        talk = whole
    }

    // its first run executes cold code
    override fun endTalk() = talk.get(3 * DEADLINE.inWholeSeconds, TimeUnit.SECONDS)

    override fun kverbs(arguments: List<String>): Pair<Int, String> {
        val said = StringBuilder()
        return runKverbs(arguments, said, said) to said.toString()
    }

    override fun close() = context.close()
}
