package org.kverbs.samples.pingpong

import org.kverbs.Context
import org.kverbs.QueuePairEndpoint
import org.kverbs.dsl.openDevice

/**
 * Sends a message there and back again and again, the way of ibv_rc_pingpong(1) and its kin for UC and UD, which it can have as
 * its peers.
 *
 * @param report takes a line about the device and one for each end's address, as soon as they are known
 */
class PingPong(
    private val options: PingPongOptions,
    private val report: (String) -> Unit = {},
) {
    /**
     * Runs it in the calling thread.
     *
     * @throws UnfitOptionException if the device can't do what the options ask for
     * @throws PingPongException if the peer can't be reached, is silent, or sends what it shouldn't
     * @throws org.kverbs.DeviceNotFoundException if there is no such device
     * @throws org.kverbs.RdmaException if a request of this end fails, as it does when the peer is gone
     */
    fun run(): PingPongResult =
        (options.device?.let { openDevice(it) } ?: openDevice()).use { device ->
            options.requireFit(device)
            val gidIndex = options.gidIndex ?: device.defaultGidIndex(options.devicePort)
            report("  device:         ${device.device().name()}, port ${options.devicePort}, GID index $gidIndex, ${options.type}")
            play(device)
        }

    private fun play(device: Context): PingPongResult {
        val channel = if (options.events) device.completionChannel() else null

        fun client() = PingPongEnd(device, options, channel, contents(::CheckedClientContents), lead = 0)

        fun server() = PingPongEnd(device, options, channel, contents(::CheckedServerContents), lead = 1)

        val ends =
            when (val peer = options.peer) {
                is Peer.Own -> listOf(client(), server()).also { (client, server) -> introduce(client, server) }
                is Peer.Server -> listOf(client().also { call(peer, it, device) })
                is Peer.Client -> listOf(server().also { answer(peer, it, device) })
            }
        Rally(ends, channel, options.timeout).run()
        val first = ends.first()
        val measured = options.iterations - options.warmUp
        return PingPongResult(options.size, measured, first.measuredFrom.elapsedNow(), first.roundTrips.takeIf { it.count > 0 })
    }

    private fun contents(checked: (Int) -> Contents): Contents = if (options.check) checked(options.size) else EchoedContents

    /** Without TCP, as both ends are here. */
    private fun introduce(
        client: PingPongEnd,
        server: PingPongEnd,
    ) {
        reportLocal(client)
        client.connect(server.address)
        server.connect(client.address)
        reportRemote(server.address)
    }

    private fun call(
        server: Peer.Server,
        end: PingPongEnd,
        device: Context,
    ) {
        reportLocal(end)
        val remote = Handshake.connect(server.host, server.port, options.timeout).use { it.asClient(end.address) }
        reportRemote(remote)
        requireRoute(remote, device)
        end.connect(remote)
    }

    private fun answer(
        client: Peer.Client,
        end: PingPongEnd,
        device: Context,
    ) {
        reportLocal(end)
        val remote =
            Handshake.accept(client.port, options.timeout).use { handshake ->
                handshake.asServer(end.address) {
                    requireRoute(it, device)
                    end.connect(it)
                }
            }
        reportRemote(remote)
    }

    /** A C program sends no GID unless it is told to, and Ethernet has no other address. */
    private fun requireRoute(
        remote: QueuePairEndpoint,
        device: Context,
    ) {
        if (remote.gid().isZero && device.queryPort(options.devicePort).isGlobalRouteRequired) {
            throw PingPongException("the peer gave no GID, and this port reaches it by nothing else: start it with -g INDEX")
        }
    }

    private fun reportLocal(end: PingPongEnd) = report("  local address:  ${text(end.address)}")

    private fun reportRemote(address: QueuePairEndpoint) = report("  remote address: ${text(address)}")

    private fun text(address: QueuePairEndpoint) =
        "LID 0x%04x, QPN 0x%06x, PSN 0x%06x, GID %s"
            .format(address.lid(), address.queuePairNumber(), address.psn(), address.gid().toCompactString())
}
