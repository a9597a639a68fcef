package org.kverbs.management.simulation

import org.kverbs.management.structures.PortCapabilityMask
import org.kverbs.management.transport.guarded
import java.io.IOException
import java.net.InetAddress
import java.net.InetSocketAddress
import java.net.StandardProtocolFamily.INET
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.nio.channels.DatagramChannel
import java.nio.channels.SelectionKey.OP_READ
import java.nio.channels.Selector
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicBoolean
import kotlin.concurrent.thread
import kotlin.coroutines.CoroutineContext

/**
 * Serves a simulated fabric to programs that speak the protocol of ibsim over UDP: those of infiniband-diags and opensm
 * with the library `libumad2sim.so`, and `IbsimTransport`.
 *
 * ```
 * simulation.serveIbsim().use { server -> println(server.port) }
 *
 * LD_PRELOAD=/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so IBSIM_SERVER_NAME=127.0.0.1 IBSIM_SERVER_PORT=... \
 *     SIM_HOST=H-1 ibnetdiscover
 * ```
 *
 * Only programs of this machine reach it. As with ibsim, a datagram has 256 bytes: of a longer answer of subnet
 * administration a program gets the first 200 bytes of data. A program that has ended without a word is
 * detached when the next one attaches, or by a look at [attached].
 *
 * Threads: all functions can be called from any thread. One thread of the server's own reads the sockets.
 */
public class IbsimServer internal constructor(
    private val exchange: Exchange,
    private val context: CoroutineContext,
    wantedPort: Int,
    private val portOf: (node: String) -> Int?,
) : AutoCloseable {
    private val loopback = InetAddress.getByName("127.0.0.1")
    private val control = bound(wantedPort)
    private val clients = ConcurrentHashMap<Int, IbsimClient>()
    private val selector = Selector.open()
    private val isClosed = AtomicBoolean()

    /** The UDP port of the server, for `IBSIM_SERVER_PORT`. Each program has another one, behind it. */
    public val port: Int = (control.localAddress as InetSocketAddress).port

    /** The nodes at which programs are attached now, each as often as it has programs. */
    public val attached: List<String>
        get() {
            detachGone()
            return clients.values.map { it.node }
        }

    private val reader = thread(isDaemon = true, name = "kverbs-ibsim-server-$port", start = false) { serve() }

    internal fun start(): IbsimServer = apply { reader.start() }

    private fun bound(port: Int): DatagramChannel {
        val channel = DatagramChannel.open(INET)
        try {
            return channel.bind(InetSocketAddress(loopback, port))
        } catch (e: IOException) {
            channel.close()
            throw IllegalStateException("the UDP port $port cannot be had: ${e.message}; give another one, or 0", e)
        }
    }

    private fun serve() {
        control.configureBlocking(false).register(selector, OP_READ)
        val question = ByteBuffer.allocate(IbsimQuestion.SIZE + 1).order(ByteOrder.nativeOrder())
        while (!isClosed.get()) {
            selector.select { key ->
                val client = key.attachment() as IbsimClient?
                if (client == null) guarded { answerControl(question) } else read(client)
            }
        }
    }

    private fun read(client: IbsimClient) = guarded { if (!client.read()) leave(client.id) }

    /** Answers one datagram: only the next select frees the UDP port of a program that left. */
    private fun answerControl(question: ByteBuffer) {
        try {
            question.clear()
            val from = control.receive(question) ?: return
            if (question.flip().remaining() != IbsimQuestion.SIZE) return
            control.send(answer(IbsimQuestion(question), from as InetSocketAddress), from)
        } catch (_: IOException) {
            // The server was closed, or a program has gone without waiting for its answer.
        }
    }

    private fun answer(
        question: IbsimQuestion,
        from: InetSocketAddress,
    ): ByteBuffer {
        val client = clients[question.client]
        return when {
            !question.isValid -> question.refused()
            question.type == IbsimQuestion.CONNECT -> connect(question, from)
            client == null -> question.refused()
            question.type == IbsimQuestion.DISCONNECT -> question.answered().also { leave(client.id) }
            question.type == IbsimQuestion.SET_ISSM -> setManager(question, client)
            else -> exchange.ask { IbsimAnswers(it, client.port).answer(question) }
        }
    }

    /** The program that manages the subnet gets the requests to its port. A port has one such program. */
    private fun setManager(
        question: IbsimQuestion,
        client: IbsimClient,
    ): ByteBuffer {
        val manages = question.number != 0
        if (manages && clients.values.any { it !== client && it.manages && it.port == client.port }) {
            return question.refused()
        }
        client.manages = manages
        announce(client)
        return question.answered()
    }

    private fun announce(client: IbsimClient) =
        exchange.ask { network ->
            network.edit(client.port) {
                val manager = PortCapabilityMask.IsSM
                capabilityMask = if (client.manages) capabilityMask + manager else capabilityMask - manager
            }
        }

    /** The number of a program is the distance of its UDP port from that of the server. */
    private fun connect(
        question: IbsimQuestion,
        from: InetSocketAddress,
    ): ByteBuffer {
        val end = portOf(question.node) ?: return question.refused()
        detachGone()
        for (id in 0 until minOf(MOST_CLIENTS, LAST_PORT - port)) {
            if (clients.containsKey(id)) continue
            val channel = runCatching { bound(port + 1 + id) }.getOrNull() ?: continue
            return if (attach(id, end, channel, InetSocketAddress(from.address, question.dataPort))) {
                question.connected(id, exchange.nodeId(end))
            } else {
                question.refused()
            }
        }
        return question.refused()
    }

    /** False, and nothing is held, for a program whose UDP port cannot be one. */
    private fun attach(
        id: Int,
        end: Int,
        channel: DatagramChannel,
        program: InetSocketAddress,
    ): Boolean {
        try {
            channel.connect(program)
        } catch (_: IOException) {
            channel.close()
            return false
        }
        val place = exchange.join(end).also { it.takesRequests = false }
        val client = IbsimClient(id, place, channel, exchange.nodeId(end), context)
        clients[id] = client
        channel.configureBlocking(false).register(selector, OP_READ, client)
        return true
    }

    private fun detachGone() = clients.values.filter { it.isGone }.forEach { leave(it.id) }

    private fun leave(id: Int) {
        val client = clients.remove(id) ?: return
        client.close()
        if (!client.manages) return
        client.manages = false
        announce(client)
    }

    /** Detaches all programs. They get no answers any more. */
    override fun close() {
        if (!isClosed.compareAndSet(false, true)) return
        selector.wakeup()
        if (reader.isAlive && Thread.currentThread() !== reader) reader.join()
        control.close()
        clients.keys.toList().forEach(::leave)
        selector.close()
    }

    /** Returns the port. */
    override fun toString(): String = "ibsim server at 127.0.0.1:$port with ${clients.size} programs"

    private companion object {
        const val MOST_CLIENTS = 64
        const val LAST_PORT = 65_534
    }
}
