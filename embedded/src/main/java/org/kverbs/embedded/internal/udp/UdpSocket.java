package org.kverbs.embedded.internal.udp;

import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;

/**
 * A UDP socket that is bound to an address and does not block. Any thread may close it while another sends or receives.
 * One thread at a time receives, and one at a time sends.
 */
interface UdpSocket extends AutoCloseable {

    /** Returns the port that the socket is bound to. */
    int port();

    /** Returns the size of the receive buffer in bytes, as the system reduced it. */
    int receiveBuffer() throws IOException;

    /** Returns the most packets that {@link #send} takes. */
    int mostPackets();

    /**
     * Sends packets of one size to one host; the last may be shorter. They get the IPv4 identifications from 0 on.
     *
     * @param trafficClass the traffic class of the packets
     * @param multicastHops the hop limit if the host is a group, or 0
     * @param from where the packets stand one behind the other, from {@code offset} on
     * @param length the bytes of all packets
     * @param packet the bytes of one packet
     * @return 0 if they left, or -errno: -EAGAIN if the socket is full
     */
    int send(Peer to, int trafficClass, int multicastHops, Room from, int offset, int length, int packet);

    /**
     * Takes a datagram that has arrived.
     *
     * @return false if there is none, or if the socket was closed
     */
    boolean receive(Datagram into);

    /** Sends multicast packets by a network interface. */
    void setMulticastInterface(NetworkInterface network) throws IOException;

    /** Receives the packets of a group that arrive at a network interface. */
    void join(InetAddress group, NetworkInterface network) throws IOException;

    /** Closes the socket. A call of another thread has returned by then, or finds the socket closed. */
    @Override
    void close();
}
