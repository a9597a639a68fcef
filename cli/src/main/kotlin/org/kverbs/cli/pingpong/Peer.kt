package org.kverbs.cli.pingpong

/** Who is at the other end. */
sealed interface Peer {
    /** Nobody else: both ends are this program's, in this process unless the transport is UDP. */
    data object Own : Peer

    /** A server: this is its client, which sends first. The [port] is TCP's. */
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
