package org.kverbs.embedded.internal.cm;

import org.kverbs.embedded.internal.transport.Gsi;

/**
 * Identifies another connection manager: its address, and our port and address that lead to it.
 *
 * @param sourceIndex index of our address in the device's GID table
 */
record Remote(Gsi port, int sourceIndex, long gidHigh, long gidLow) {

    void send(Mad mad) {
        port.send(mad.encode(), sourceIndex, gidHigh, gidLow);
    }

    void send(long transaction, Message message) {
        send(new Mad(transaction, message));
    }
}
