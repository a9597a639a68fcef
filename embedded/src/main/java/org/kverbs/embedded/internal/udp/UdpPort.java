package org.kverbs.embedded.internal.udp;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.nio.channels.DatagramChannel;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.engine.Task;
import org.kverbs.embedded.internal.objects.Gids;
import org.kverbs.embedded.internal.objects.PacketPort;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.embedded.internal.wire.Icrc;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.internal.Refusal;
import org.kverbs.internal.abi.Errno;

/**
 * Connects a device to UDP port 4791 of its address. A thread waits for packets and takes them, so that a peer's reads
 * and writes do not wait for the program's polls. While the program polls continuously, the thread leaves the packets
 * to the polls, which find them sooner than a thread that must be woken. The thread notices within a fraction of a
 * millisecond that the polls have ended.
 */
public final class UdpPort implements PacketPort {

    /** How long the thread sleeps before it checks whether the program still polls continuously, in nanoseconds. */
    private static final long NAP = 100_000;
    /** How often one call of {@link #catchUp} looks at the socket; each time may bring many packets. */
    private static final int GOES = 16;
    /** How long the thread sleeps after a failure that no packet caused, in nanoseconds. */
    private static final long RECOVERY = 5_000_000;

    private final Hca device;
    private final InetAddress address;
    private final PortSockets sockets;
    private final Peer self;
    /** Guarded by the engine's lock. */
    private final Peers peers = new Peers();
    private final SocketSender sender;
    private final SocketReceiver receiver;
    /** Guards the receiving side. Taken before the engine's lock, or with tryLock. */
    private final ReentrantLock receiving = new ReentrantLock();
    private final GroupSockets groups;
    private volatile @Nullable UdpSocket socket;
    private volatile @Nullable Waiter waiter;
    private int window = 16;
    private volatile @Nullable Thread thread;
    private final PollRate polls = new PollRate();
    /** Reserves the address for this process until the device is opened for the first time; guarded by this object. */
    private @Nullable UdpSocket reserved;

    /**
     * @param address the device's address; its socket is bound to it while the device is open
     * @param isNative whether to use sockets of Linux where possible; otherwise those of Java
     */
    public UdpPort(Hca device, InetAddress address, boolean isNative) {
        this(device, address, isNative, PortSockets.BUFFER);
    }

    /** @param buffer the requested size of the socket's receive buffer in bytes; the system's limit may reduce it */
    public UdpPort(Hca device, InetAddress address, boolean isNative, int buffer) {
        this.device = device;
        this.address = address;
        this.self = new Peer(address);
        this.sockets = new PortSockets(self.isV4(), buffer, isNative);
        this.groups = new GroupSockets(sockets, self);
        this.sender = new SocketSender(device.engine(), sockets, self, device.counters);
        this.receiver = new SocketReceiver(device, sockets);
    }

    /**
     * Binds the address before the device is open, so that no other process takes it.
     *
     * @return false if the address is taken, or is not an address of this machine
     */
    public synchronized boolean reserve() {
        try {
            reserved = sockets.open(self.address);
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    private synchronized UdpSocket openOrReserved() throws IOException {
        UdpSocket opened = reserved == null ? sockets.open(self.address) : reserved;
        reserved = null;
        return opened;
    }

    /** Returns the GIDs of a device at an address. */
    public static Gids gids(InetAddress address) {
        var peer = new Peer(address);
        return new Gids(peer.gidHigh, peer.gidLow);
    }

    @Override
    public int open() {
        try {
            UdpSocket opened = openOrReserved();
            socket = opened;
            NetworkInterface network = PortSockets.networkInterface(address);
            if (network != null) {
                opened.setMulticastInterface(network);
            }
            sender.open(opened, network);
            int room = opened.receiveBuffer();
            // The kernel keeps a packet in the next larger power of two, and counts that size. The peer's buffer is
            // assumed to have the same size.
            window = Math.clamp(room / (2 * device.mtu() + 256), 16, 340);
            Waiter waiting = sockets.waiter();
            waiter = waiting;
            waiting.add(opened);
            thread = Thread.ofPlatform().daemon().name("kverbs-" + device.name()).start(() -> receive(waiting));
            return 0;
        } catch (BindException e) {
            close();
            return local() ? taken() : -Errno.EADDRNOTAVAIL;
        } catch (UnsupportedOperationException e) {
            close();
            return -Errno.EAFNOSUPPORT; // this machine has no IPv6
        } catch (IOException e) {
            close();
            return -PortSockets.reason(Errno.EIO);
        }
    }

    private int taken() {
        return Refusal.because(
                Errno.EADDRINUSE,
                "UDP port " + Icrc.UDP_PORT + " of " + address.getHostAddress()
                        + " is taken, by another process with an embedded device at this address or by the kernel's"
                        + " Soft-RoCE: end that one, or use another address (`KVERBS_EMBEDDED=udp:ADDRESS`).");
    }

    private boolean local() {
        try {
            return PortSockets.networkInterface(address) != null;
        } catch (IOException e) {
            return false;
        }
    }

    @Override
    public void send(Packet packet) {
        if (!device.isUp() || Gids.isV4(packet.destinationGidHigh, packet.destinationGidLow) != self.isV4()) {
            return;
        }
        sender.send(packet, peers.find(packet.destinationGidHigh, packet.destinationGidLow));
        PollRate.seen();
    }

    @Override
    public boolean leadsToOtherProcesses() {
        return true;
    }

    @Override
    public boolean mustWait(Task task) {
        return sender.mustWait(task);
    }

    @Override
    public void look(boolean waits) {
        if (!waits) {
            polls.begin();
        }
        if (receiving.tryLock()) {
            try {
                takeAll();
            } finally {
                receiving.unlock();
            }
        }
        if (!waits) {
            polls.end();
        } else if (polls.stop()) {
            LockSupport.unpark(thread);
        }
    }

    @Override
    public boolean catchUp() {
        if (!receiving.tryLock()) {
            return false;
        }
        try {
            // Answers come to the device's own address, not to those of its groups.
            for (int i = 0; i < GOES; i++) {
                if (receiver.take(socket, self) == 0) {
                    return true;
                }
            }
            return false;
        } finally {
            receiving.unlock();
        }
    }

    private void receive(Waiter waiting) {
        while (waiting.isOpen()) {
            try {
                receiveOnce(waiting);
            } catch (Throwable e) {
                recover(e);
            }
        }
    }

    /**
     * Reports a failure of this thread itself, such as a lack of memory; failures of a packet are handled elsewhere.
     * The thread must not end.
     */
    private void recover(Throwable failure) {
        try {
            device.engine().enter();
            try {
                device.engine().report(failure);
            } finally {
                device.engine().leave();
            }
        } catch (Throwable e) {
            // The failure cannot be reported, either.
        }
        LockSupport.parkNanos(RECOVERY);
    }

    private void receiveOnce(Waiter waiting) throws IOException {
        if (polls.isDense()) {
            LockSupport.parkNanos(NAP);
        } else if (waiting.await()) {
            takeUnlessSomebodyPolls();
        }
    }

    private void takeUnlessSomebodyPolls() {
        // Not tryLock: if the polling thread has the lock but no processor, the waiter would wake this thread again
        // and again.
        receiving.lock();
        try {
            if (!polls.isDense()) {
                takeAll();
            }
        } finally {
            receiving.unlock();
        }
    }

    /** Takes the packets of all sockets. Called with {@link #receiving} held. */
    private void takeAll() {
        receiver.take(socket, self);
        groups.take(receiver);
    }

    /**
     * Tells whether a GID is in reach. Packets of the loopback interface stay there, and it receives none from
     * elsewhere.
     */
    @Override
    public boolean leadsTo(long gidHigh, long gidLow) {
        Peer peer = Peer.of(gidHigh, gidLow);
        boolean sameSide = Gids.isMulticast(gidHigh, gidLow)
                || peer.address.getAddress().isLoopbackAddress() == address.isLoopbackAddress();
        return peer.isV4() == self.isV4() && sameSide;
    }

    /**
     * Tells whether the system's route to the GID leaves from this address. Connecting a UDP socket sends nothing: it
     * only queries the routing table.
     */
    @Override
    public boolean isUsualTo(long gidHigh, long gidLow) {
        try (DatagramChannel probe = DatagramChannel.open(sockets.family())) {
            probe.connect(Peer.of(gidHigh, gidLow).address);
            return probe.getLocalAddress() instanceof InetSocketAddress local && local.getAddress().equals(address);
        } catch (IOException e) {
            return false;
        }
    }

    @Override
    public boolean carriesWholeMessages() {
        return false;
    }

    @Override
    public int window() {
        return window;
    }

    @Override
    public int joinGroup(long gidHigh, long gidLow) {
        return groups.join(Peer.of(gidHigh, gidLow), waiter);
    }

    @Override
    public void leaveGroup(long gidHigh, long gidLow) {
        groups.leave(gidHigh, gidLow);
    }

    @Override
    public void close() {
        groups.close();
        sender.close();
        PortSockets.close(waiter);
        PortSockets.close(socket);
        waiter = null;
        socket = null;
    }
}
