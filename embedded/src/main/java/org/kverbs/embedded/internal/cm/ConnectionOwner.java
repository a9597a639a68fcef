package org.kverbs.embedded.internal.cm;

import org.kverbs.embedded.internal.cm.Message.Rep;

/** Gets the events of a connection. */
interface ConnectionOwner {
    /** The peer accepts; {@link Connection#establish} must follow. */
    void replied(Rep rep);

    void established();

    void rejected(int reason, byte[] privateData);

    /** The peer did not answer. */
    void unreachable();

    /** The connection has ended, with status 0, or with -ETIMEDOUT if the peer did not confirm the end. */
    void disconnected(int status);

    /** No packet of the connection can be in the network any more. */
    void timewaitOver();
}
