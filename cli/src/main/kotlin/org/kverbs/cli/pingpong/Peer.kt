package org.kverbs.cli.pingpong

/** The program at the other end of a ping-pong. */
sealed interface Peer {
    /** This program has both ends, in this process unless the transport is UDP. */
    data object Own : Peer

    /** A server at the TCP [port] of [host]. This end is its client, which sends first. */
    data class Server(
        val host: String,
        val port: Int = DEFAULT_PORT,
    ) : Peer

    /** The first client that comes to a TCP [port] of this machine, or of one [address] of it. */
    data class Client(
        val port: Int = DEFAULT_PORT,
        val address: String? = null,
    ) : Peer

    companion object {
        /** The TCP port of ibv_rc_pingpong(1). */
        const val DEFAULT_PORT = 18515
    }
}
