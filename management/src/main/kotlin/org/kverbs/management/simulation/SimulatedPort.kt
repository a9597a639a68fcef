package org.kverbs.management.simulation

import org.kverbs.management.path.MadPath
import org.kverbs.management.path.directed
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.transport.MAD_SIZE
import org.kverbs.management.transport.MadPort
import org.kverbs.management.transport.MadReceiver
import org.kverbs.management.transport.MadTransport
import org.kverbs.management.transport.guarded
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.atomic.AtomicReference

/** What arrives at a program: a datagram, or word that one was lost. */
internal class Arrival(
    val mad: ByteArray,
    val back: MadPath?,
    val isUndelivered: Boolean = false,
)

/**
 * A program's place at a port of a simulated fabric. What arrives is handed over by the thread that sent it, or by the
 * one that hands something over already: the receiver is never called by two at once, nor from within itself.
 */
internal class SimulatedPort(
    private val exchange: Exchange,
    val id: Int,
    val port: Int,
    val mgmtClass: Int? = null,
) : MadTransport {
    private val receiver = AtomicReference<MadReceiver>()
    private val inbox = ConcurrentLinkedQueue<Arrival>()
    private val waiting = AtomicInteger()

    /** Whether the program gets requests of others. A program that only asks leaves them to the agents. */
    @Volatile
    var takesRequests = true

    @Volatile
    private var isClosed = false

    override fun port(): MadPort {
        checkOpen()
        val info = ByteArray(MAD_SIZE)
        return exchange.ask {
            Identity.write(it, port, info, 0)
            val state = ByteArray(Network.PORT_INFO_SIZE)
            it.portInfo(port, state, 0)
            MadPort(it.topology.specOf(port).id, NodeInfo.of(info.copyOf(NodeInfo.byteSize)), PortInfo.of(state))
        }
    }

    override fun receive(receiver: MadReceiver) {
        check(this.receiver.compareAndSet(null, receiver)) { "the transport has a receiver; one transport serves one" }
    }

    override fun send(
        mad: ByteArray,
        path: MadPath,
    ) {
        require(mad.size == MAD_SIZE) { "a management datagram has $MAD_SIZE bytes, not ${mad.size}" }
        checkOpen()
        exchange.send(this, mad.copyOf(), path)
    }

    /** Whether the program serves requests such as this one. */
    fun wants(arrival: Arrival): Boolean {
        var wants = false
        guarded { wants = receiver.get()?.isWanted(arrival.mad, arrival.back ?: directed(0)) == true }
        return wants && !isClosed
    }

    private fun checkOpen() = check(!isClosed) { "the transport is closed" }

    fun hand(arrival: Arrival) {
        inbox += arrival
        if (waiting.getAndIncrement() != 0) return
        do {
            val next = inbox.poll()
            val to = receiver.get()
            if (next != null && to != null && !isClosed) hand(next, to)
        } while (waiting.decrementAndGet() != 0)
    }

    private fun hand(
        arrival: Arrival,
        to: MadReceiver,
    ) = guarded {
        // A fault of this receiver must not end the program whose request brought the datagram here.
        if (arrival.isUndelivered) to.undelivered(arrival.mad) else to.received(arrival.mad, arrival.back)
    }

    override fun close() {
        isClosed = true
        exchange.leave(this)
    }

    override fun toString(): String = "simulated port ${exchange.name(port)}, program $id"
}
