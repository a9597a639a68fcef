package org.kverbs.blocking

/** Serves one connection of a [BlockingServer]. */
public fun interface ConnectionHandler {
    /**
     * Talks to the client, on a virtual thread of its own. The server disconnects the connection when this returns, and
     * closes it when this throws. It interrupts the thread when the server is closed, and at the timeout of
     * [BlockingServer.stop].
     *
     * @throws Exception any exception ends the connection; the server calls `onFailure`, and the other connections live
     *   on
     */
    @Throws(Exception::class)
    public fun handle(connection: BlockingConnection)
}
