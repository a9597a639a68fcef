package org.kverbs

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
import java.net.InetSocketAddress
import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.TimeUnit

/** A connection manager that does nothing by itself: events are what a test [queue]s, and [answers] what calls return. */
internal class FakeConnectionManager : ConnectionManager {
    private val arena = Arena.ofAuto()
    private val waiting = mutableMapOf<Long, LinkedBlockingQueue<Long>>()

    /** What a call returns in place of 0, by the name that it has in the interface. */
    val answers = mutableMapOf<String, Int>()

    /** Each call on an id or event, in order: its name and the address that it names. */
    val calls = mutableListOf<Pair<String, Long>>()

    /** Ids that there are. */
    val live = mutableSetOf<Long>()

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
            event.set(JAVA_LONG, RdmaCmEvent.PARAM_CONN_PRIVATE_DATA.toLong(), arena.allocateFrom(JAVA_BYTE, *it).address())
            event.set(JAVA_BYTE, RdmaCmEvent.PARAM_CONN_PRIVATE_DATA_LEN.toLong(), it.size.toByte())
        }
        fill(event)
        waiting.getValue(channel.handle()).add(event.address())
        return event
    }

    private fun called(
        name: String,
        on: Long,
    ): Int {
        calls += name to on
        return answers[name] ?: 0
    }

    override fun createEventChannel(): Long {
        val channel = arena.allocate(8).address()
        waiting[channel] = LinkedBlockingQueue()
        return channel
    }

    override fun destroyEventChannel(channel: Long): Int = called("destroyEventChannel", channel)

    override fun eventChannelFd(channel: Long): Int = -1

    override fun awaitEvent(
        channel: Long,
        timeoutNanos: Long,
    ): Long = waiting.getValue(channel).poll(timeoutNanos, TimeUnit.NANOSECONDS) ?: 0

    override fun ackEvent(event: Long): Int = called("ackEvent", event)

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
        if (called("destroyId", id) < 0) return answers.getValue("destroyId")
        check(live.remove(id)) { "an id is destroyed twice" }
        return 0
    }

    override fun migrateId(
        id: Long,
        channel: Long,
    ): Int = called("migrateId", id)

    override fun deviceName(id: Long): String? = null

    override fun bindAddress(
        id: Long,
        address: MemorySegment,
    ): Int = called("bindAddress", id)

    override fun resolveAddress(
        id: Long,
        source: MemorySegment?,
        destination: MemorySegment,
        timeoutMillis: Int,
    ): Int = called("resolveAddress", id)

    override fun resolveRoute(
        id: Long,
        timeoutMillis: Int,
    ): Int = called("resolveRoute", id)

    override fun listen(
        id: Long,
        backlog: Int,
    ): Int = called("listen", id)

    override fun connect(
        id: Long,
        parameters: MemorySegment,
    ): Int = called("connect", id)

    override fun accept(
        id: Long,
        parameters: MemorySegment,
    ): Int = called("accept", id)

    override fun reject(
        id: Long,
        privateData: MemorySegment,
    ): Int = called("reject", id)

    override fun rejectEce(
        id: Long,
        privateData: MemorySegment,
    ): Int = called("rejectEce", id)

    override fun establish(id: Long): Int = called("establish", id)

    override fun disconnect(id: Long): Int = called("disconnect", id)

    override fun notify(
        id: Long,
        event: Int,
    ): Int = called("notify", id)

    override fun initQueuePairAttributes(
        id: Long,
        attributes: MemorySegment,
        mask: MemorySegment,
    ): Int = called("initQueuePairAttributes", id)

    override fun joinMulticast(
        id: Long,
        address: MemorySegment,
        joinFlags: Int,
    ): Int = called("joinMulticast", id)

    override fun leaveMulticast(
        id: Long,
        address: MemorySegment,
    ): Int = called("leaveMulticast", id)

    override fun setOption(
        id: Long,
        level: Int,
        name: Int,
        value: MemorySegment,
    ): Int = called("setOption", id)

    override fun setLocalEce(
        id: Long,
        ece: MemorySegment,
    ): Int = called("setLocalEce", id)

    override fun getRemoteEce(
        id: Long,
        ece: MemorySegment,
    ): Int = called("getRemoteEce", id)

    override fun addressInfo(
        node: MemorySegment?,
        service: MemorySegment?,
        hints: MemorySegment?,
    ): Long = called("addressInfo", 0).toLong()

    override fun freeAddressInfo(info: Long) = Unit
}
