package org.kverbs.embedded.internal.udp;

import java.io.IOException;

/** Lets one thread wait for datagrams at several sockets. Any thread may call the other methods. */
interface Waiter extends AutoCloseable {

    /** Waits for datagrams at a socket, too, until the socket is closed. The socket is of the waiter's kind. */
    void add(UdpSocket socket) throws IOException;

    /** Waits until a datagram has arrived at a socket. Returns false if it woke for another reason. */
    boolean await() throws IOException;

    /** Tells whether the waiter is not closed. */
    boolean isOpen();

    /** Ends the wait, and every later one. */
    @Override
    void close();
}
