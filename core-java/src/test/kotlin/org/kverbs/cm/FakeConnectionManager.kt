package org.kverbs.cm

import org.kverbs.Device
import org.kverbs.internal.SocketAddresses
import org.kverbs.internal.abi.Errno
import org.kverbs.internal.abi.RdmaCmEvent
import org.kverbs.internal.abi.RdmaCmId
import org.kverbs.spi.ConnectionManager
import org.kverbs.spi.VerbsDevice
import org.kverbs.spi.VerbsOpenResult
import org.kverbs.spi.VerbsProvider
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.lang.foreign.ValueLayout.JAVA_INT
import java.lang.foreign.ValueLayout.JAVA_LONG
import java.lang.reflect.Proxy
import java.net.InetSocketAddress
import java.util.Collections
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.TimeUnit

/**
 * A connection manager that does nothing by itself: events are what a test [queue]s, and [answers] what calls return.
 */
internal class FakeConnectionManager private constructor(
    private val answering: Answering,
) : ConnectionManager by answering.manager {
    private val arena = Arena.ofAuto()
    private val waiting = mutableMapOf<Long, LinkedBlockingQueue<Long>>()

    constructor() : this(Answering())

    /** The result of a call in place of 0, by its name in the interface. */
    val answers: MutableMap<String, Int> get() = answering.answers

    /** Each call on an id or event, in order: its name and the address that it names. */
    val calls: MutableList<Pair<String, Long>> get() = answering.calls

    /** Runs while an id is moved to another channel. */
    var whileMigrating: () -> Unit = {}

    /** Ids that there are. */
    val live: MutableSet<Long> = ConcurrentHashMap.newKeySet()

    private val provider =
        object : VerbsProvider {
            override fun name() = "fake"

            override fun isNative() = false

            override fun devices() = emptyList<VerbsDevice>()

            override fun connectionManager() = this@FakeConnectionManager
        }

    fun open(): ConnectionEventChannel =
        ConnectionEventChannel.open(
            Device.of(
                provider,
                object : VerbsDevice {
                    override fun name() = "fake0"

                    override fun guid() = 1L

                    override fun nodeType() = 1

                    override fun transportType() = 0

                    override fun open() = VerbsOpenResult.refused(Errno.ENODEV)
                },
            ),
        )

    /** Memory for an id that its peer made, with the peer's address. */
    fun incoming(peer: InetSocketAddress): Long {
        val id = arena.allocate(RdmaCmId.SIZE.toLong(), 8)
        id.asSlice(RdmaCmId.ROUTE_ADDR_DST_ADDR.toLong()).copyFrom(SocketAddresses.allocate(arena, peer))
        live += id.address()
        return id.address()
    }

    /** Puts an event into a channel; [fill] writes the rest of its fields. Gives the structure. */
    fun queue(
        channel: ConnectionEventChannel,
        type: Int,
        id: Long,
        status: Int = 0,
        listener: Long = 0,
        privateData: ByteArray? = null,
        fill: (MemorySegment) -> Unit = {},
    ): MemorySegment {
        val event = arena.allocate(RdmaCmEvent.SIZE.toLong(), 8)
        event.set(JAVA_LONG, RdmaCmEvent.ID.toLong(), id)
        event.set(JAVA_LONG, RdmaCmEvent.LISTEN_ID.toLong(), listener)
        event.set(JAVA_INT, RdmaCmEvent.EVENT.toLong(), type)
        event.set(JAVA_INT, RdmaCmEvent.STATUS.toLong(), status)
        privateData?.let {
            event.set(
                JAVA_LONG,
                RdmaCmEvent.PARAM_CONN_PRIVATE_DATA.toLong(),
                arena.allocateFrom(JAVA_BYTE, *it).address(),
            )
            event.set(JAVA_BYTE, RdmaCmEvent.PARAM_CONN_PRIVATE_DATA_LEN.toLong(), it.size.toByte())
        }
        fill(event)
        waiting.getValue(channel.handle()).add(event.address())
        return event
    }

    override fun createEventChannel(): Long {
        val channel = arena.allocate(8).address()
        waiting[channel] = LinkedBlockingQueue()
        return channel
    }

    override fun eventChannelFd(channel: Long): Int = -1

    override fun awaitEvent(
        channel: Long,
        timeoutNanos: Long,
    ): Long = waiting.getValue(channel).poll(timeoutNanos, TimeUnit.NANOSECONDS) ?: 0

    override fun wakeEventChannel(channel: Long) {
        waiting.getValue(channel).add(0)
    }

    override fun createId(
        channel: Long,
        portSpace: Int,
    ): Long {
        answers["createId"]?.let { return it.toLong() }
        return arena
            .allocate(RdmaCmId.SIZE.toLong(), 8)
            .address()
            .also { live += it }
    }

    override fun destroyId(id: Long): Int {
        if (answering.call("destroyId", id) < 0) return answers.getValue("destroyId")
        check(live.remove(id)) { "an id is destroyed twice" }
        return 0
    }

    override fun migrateId(
        id: Long,
        channel: Long,
    ): Int {
        whileMigrating()
        return answering.call("migrateId", id)
    }

    override fun deviceName(id: Long): String? = null
}

/** Notes each call, and answers as a test says. */
private class Answering {
    val answers = mutableMapOf<String, Int>()
    val calls: MutableList<Pair<String, Long>> = Collections.synchronizedList(mutableListOf())

    val manager =
        Proxy.newProxyInstance(javaClass.classLoader, arrayOf(ConnectionManager::class.java)) { _, method, arguments ->
            val answer = call(method.name, arguments?.firstOrNull() as? Long ?: 0)
            when (method.returnType) {
                Int::class.java -> answer
                Long::class.java -> answer.toLong()
                else -> null
            }
        } as ConnectionManager

    fun call(
        name: String,
        on: Long,
    ): Int {
        calls += name to on
        return answers[name] ?: 0
    }
}
