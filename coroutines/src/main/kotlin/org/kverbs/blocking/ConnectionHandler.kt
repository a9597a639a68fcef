package org.kverbs.blocking

/** Serves one connection of a [BlockingServer]. */
public fun interface ConnectionHandler {
    /**
     * Talks to the client, on a virtual thread of its own. The connection is disconnected when this returns, and closed
     * when it throws. The thread is interrupted when the server is closed, and at the deadline of its stop.
     *
     * @throws Exception whatever ends the connection; the server's `onFailure` is told, and the other connections live
     *   on
     */
    @Throws(Exception::class)
    public fun handle(connection: BlockingConnection)
}
