package org.kverbs.embedded.internal.udp;

import java.io.IOException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;

/** Waits by a selector of Java. */
final class JavaWaiter implements Waiter {

    private final Selector selector;

    JavaWaiter() throws IOException {
        selector = Selector.open();
    }

    @Override
    public void add(UdpSocket socket) throws IOException {
        ((JavaSocket) socket).channel().register(selector, SelectionKey.OP_READ);
        selector.wakeup();
    }

    @Override
    public boolean await() throws IOException {
        try {
            return selector.select(JavaWaiter::ready) > 0;
        } catch (ClosedSelectorException e) {
            return false;
        }
    }

    /**
     * Ignores the key: a set of selected keys would allocate an object at each wake-up, and the sockets are few enough
     * to try all.
     */
    private static void ready(SelectionKey key) {}

    @Override
    public boolean isOpen() {
        return selector.isOpen();
    }

    @Override
    public void close() {
        PortSockets.close(selector);
    }
}
