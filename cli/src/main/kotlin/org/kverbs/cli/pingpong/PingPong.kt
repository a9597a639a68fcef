package org.kverbs.cli.pingpong

import kotlinx.coroutines.cancelChildren
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.isActive
import kotlinx.coroutines.joinAll
import kotlinx.coroutines.runBlocking
import org.kverbs.Context
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionStatus
import org.kverbs.attributes.QueuePairEndpoint
import org.kverbs.coroutines.CompletionDispatcher
import org.kverbs.coroutines.completionDispatcher
import java.net.InetAddress
import java.util.Locale

/**
 * Sends a message there and back again and again, the way of ibv_rc_pingpong(1) and its kin for UC and UD, which it can
 * have as its peers.
 *
 * @param report takes lines about the devices and each end's address, as soon as they are known
 */
class PingPong(
    private val options: PingPongOptions,
    private val report: (String) -> Unit = {},
) {
    @Volatile
    private var client: PingPong? = null

    @Volatile
    private var first: PingPongEnd? = null

    /** The address of the other program; null until this one meets it. */
    private var peerAddress: InetAddress? = null

    /** The figures until now, while it runs, from any thread; null before the first measured round. */
    fun soFar(): PingPongResult? = client?.soFar() ?: first?.soFar()

    /**
     * Runs it. Both ends over UDP get a process each: this one the client's, and another, which is gone afterwards, the
     * server's.
     *
     * @throws UnfitOptionException if the device can't do what the options ask for
     * @throws PingPongException if the peer can't be reached, falls silent, or sends what it shouldn't
     * @throws ServerProcessException if the process that was started for the server's end fails
     * @throws org.kverbs.DeviceNotFoundException if there is no such device
     * @throws org.kverbs.RdmaException if a request of this end fails, as it does when the peer has never answered
     */
    fun run(): PingPongResult =
        if (options.transport is Transport.Udp && options.peer is Peer.Own) {
            ServerProcess(options).use { server ->
                server.play { PingPong(server.clientOptions, report).also { client = it }.run() }
            }
        } else {
            val venue = Venue.of(options)
            venue.near.open().use { near ->
                reportDevice("device:       ", near)
                when (venue.far) {
                    null -> {
                        play(venue, near, null)
                    }

                    venue.near -> {
                        play(venue, near, near)
                    }

                    else -> {
                        venue.far.open().use { far ->
                            reportDevice("remote device:", far)
                            play(venue, near, far)
                        }
                    }
                }
            }
        }

    private fun reportDevice(
        role: String,
        device: Context,
    ) {
        options.requireFit(device)
        val gidIndex = options.gidIndex ?: device.defaultGidIndex(options.devicePort)
        report("  $role  ${device.device().name()}, port ${options.devicePort}, GID index $gidIndex, ${options.type}")
    }

    /** @param far the device of the other end, if that is in this process */
    private fun play(
        venue: Venue,
        device: Context,
        far: Context?,
    ): PingPongResult {
        venue.transport?.let { report("  transport:      $it") }
        report("  played by:      ${options.waiting}")
        return try {
            if (options.waiting == Waiting.POLLED) {
                playPolling(device, far)
            } else {
                runBlocking { playSuspending(device, far) }
            }
        } catch (e: WorkCompletionException) {
            throw ofPeer(e)
        }
    }

    /**
     * Returns what the failure of a request means. A peer that has acknowledged a message, and acknowledges no more,
     * has ended. The advice of the status, which is about the set-up, does not fit then.
     */
    private fun ofPeer(failure: WorkCompletionException): Exception {
        val address = peerAddress
        val end = first
        val wasThere = end != null && end.isAcknowledged
        if (address == null || !wasThere || failure.status() != WorkCompletionStatus.RETRY_EXC_ERR) return failure
        return PingPongException(
            "the peer at ${address.hostAddress} does not answer any more, ${end.progress}: it ended or was stopped, " +
                "has other options than this end, or the network to it is down",
            failure,
        )
    }

    /** One thread polls all ends in turn. */
    private fun playPolling(
        device: Context,
        far: Context?,
    ): PingPongResult {
        val ends = meet(device, far) { at, contents, lead -> PolledEnd(at, options, contents, lead) }
        ends.forEach { it.begin() }
        Rally(ends, options.timeout) { ends.sumOf { it.poll() } }.runUntil { ends.all { it.isDone } }
        return result(ends.first())
    }

    /**
     * A coroutine an end, and a dispatcher a device: each has a thread of its own, unless this one polls for two
     * devices all the time.
     */
    private suspend fun playSuspending(
        device: Context,
        far: Context?,
    ): PingPongResult =
        coroutineScope {
            val devices = setOfNotNull(device, far)
            val pollsHere = options.waiting == Waiting.SUSPENDED && devices.size > 1
            val dispatchers =
                devices.associateWith {
                    it.completionDispatcher { if (pollsHere) callerPolls() else strategy(options.waiting.strategy) }
                }
            try {
                val ends =
                    meet(device, far) { at, contents, lead ->
                        SuspendingEnd(dispatchers.getValue(at), this, options, contents, lead, isWatched = !pollsHere)
                    }
                val games = ends.map { it.start() }
                if (pollsHere) {
                    poll(
                        ends,
                        dispatchers.values,
                    ) { !isActive || games.all { it.isCompleted } }
                } else {
                    games.joinAll()
                }
                result(ends.first())
            } finally {
                coroutineContext.cancelChildren() // some wait for messages that no end will send
                dispatchers.values.forEach { it.close() } // they come to their end now, though nobody polls
            }
        }

    private fun poll(
        ends: List<PingPongEnd>,
        dispatchers: Collection<CompletionDispatcher>,
        isDone: () -> Boolean,
    ) = Rally(ends, options.timeout) { dispatchers.sumOf { it.poll() } }.runUntil(isDone)

    private fun result(first: PingPongEnd) =
        PingPongResult(options.size, options.iterations, first.elapsed, first.roundTrips.takeIf { it.count > 0 })

    /** Makes the ends that are this process's, and brings them together with those that they play with. */
    private fun <E : PingPongEnd> meet(
        device: Context,
        far: Context?,
        make: (Context, Contents, lead: Int) -> E,
    ): List<E> {
        fun client() = make(device, contents(::CheckedClientContents), 0)

        fun server(at: Context?) = make(checkNotNull(at), contents(::CheckedServerContents), 1)

        return when (val peer = options.peer) {
            is Peer.Own -> listOf(client(), server(far)).also { (client, server) -> introduce(client, server) }
            is Peer.Server -> listOf(client().also { call(peer, it, device) })
            is Peer.Client -> listOf(server(device).also { answer(peer, it, device) })
        }.also { first = it.first() }
    }

    private fun contents(checked: (Int) -> Contents): Contents =
        if (options.check) checked(options.size) else EchoedContents

    /** Without TCP, as both ends are here. */
    private fun introduce(
        client: PingPongEnd,
        server: PingPongEnd,
    ) {
        reportLocal(client)
        client.connect(server.address)
        server.connect(client.address)
        reportRemote(server.address)
        val warmUp = options.rules().warmUp
        listOf(client, server).forEach { it.warmUp(warmUp) }
        reportWarmUp(warmUp)
    }

    private fun call(
        server: Peer.Server,
        end: PingPongEnd,
        device: Context,
    ) {
        reportLocal(end)
        val (remote, rules) =
            Handshake.connect(server.host, server.port, options.timeout).use {
                peerAddress = it.peerAddress
                it.asClient(end.address, options.rules())
            }
        reportRemote(remote)
        requireRoute(remote, device)
        agree(end, rules)
        end.connect(remote)
    }

    private fun answer(
        client: Peer.Client,
        end: PingPongEnd,
        device: Context,
    ) {
        reportLocal(end)
        val (remote, rules) =
            Handshake.accept(client, options.timeout) { report("$LISTENING$it") }.use { handshake ->
                peerAddress = handshake.peerAddress
                handshake.asServer(end.address, options.rules()) {
                    requireRoute(it, device)
                    end.connect(it)
                }
            }
        reportRemote(remote)
        agree(end, rules)
    }

    /** Compares the rules with those of a ping-pong of kverbs. One of rdma-core sends none, and has no warm-up. */
    private fun agree(
        end: PingPongEnd,
        peer: Rules?,
    ) {
        peer?.let { options.rules().requireSame(it) }
        end.warmUp(if (peer == null) options.warmUp ?: 0 else peer.warmUp)
        reportWarmUp(end.warmUp)
    }

    private fun reportWarmUp(rounds: Int) {
        val text = if (rounds == 0) "none: a cold JVM is measured" else "$rounds rounds, which are not measured"
        report("  warm-up:        $text")
    }

    /** A C program sends no GID unless it is told to, and Ethernet has no other address. */
    private fun requireRoute(
        remote: QueuePairEndpoint,
        device: Context,
    ) {
        if (remote.gid().isZero && device.queryPort(options.devicePort).isGlobalRouteRequired) {
            throw PingPongException(
                "the peer gave no GID, and this port reaches it by nothing else: start it with -g INDEX",
            )
        }
    }

    private fun reportLocal(end: PingPongEnd) = report("  local address:  ${text(end.address)}")

    private fun reportRemote(address: QueuePairEndpoint) = report("  remote address: ${text(address)}")

    private fun text(address: QueuePairEndpoint) =
        "LID 0x%04x, QPN 0x%06x, PSN 0x%06x, GID %s".format(
            Locale.ROOT,
            address.lid(),
            address.queuePairNumber(),
            address.psn(),
            address.gid().toCompactString(),
        )

    internal companion object {
        /** The first words of a server's report when clients can connect. */
        const val LISTENING = "  listening at:   "
    }
}
