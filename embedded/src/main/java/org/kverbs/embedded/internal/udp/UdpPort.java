package org.kverbs.embedded.internal.udp;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.BindException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.ProtocolFamily;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.engine.Task;
import org.kverbs.embedded.internal.objects.Counter;
import org.kverbs.embedded.internal.objects.Gids;
import org.kverbs.embedded.internal.objects.PacketPort;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.embedded.internal.wire.Icrc;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.embedded.internal.wire.PacketCodec;
import org.kverbs.internal.Refusal;
import org.kverbs.internal.abi.Errno;

/**
 * A device's UDP socket on port 4791 of its address. A thread waits for packets and takes them, so that a peer's reads
 * and writes wait for no poll of the program. Only while the program polls all the time the thread leaves the packets
 * to those polls, which find them sooner than a thread that has to be woken; it sees within a fraction of a millisecond
 * that they have ended.
 */
public final class UdpPort implements PacketPort {

    private static final int BUFFER = 4 << 20;
    /** Packets taken in one go before others get the engine's lock. */
    private static final int BATCH = 64;
    /** How long the thread sleeps before it looks whether the program still polls all the time, in nanoseconds. */
    private static final long NAP = 100_000;
    /** How long it sleeps after it failed for a reason that no packet has, in nanoseconds. */
    private static final long RECOVERY = 5_000_000;

    /**
     * A set of keys would be an object for each wake-up; the sockets are few, so which of them it was is not needed.
     */
    private static final Consumer<SelectionKey> READY = key -> {};

    private final Hca device;
    private final InetAddress address;
    private final int buffer;
    private final Peer self;
    /** Guarded by the engine's lock. */
    private final Peers peers = new Peers();
    private final SocketSender sender;
    private final Icrc receiveIcrc;
    private final ByteBuffer receiveBuffer;
    private final long receiveAddress;
    private final Packet received = new Packet(0);
    /** Guards the receiving side. Taken before the engine's lock, or without waiting. */
    private final ReentrantLock receiving = new ReentrantLock();
    private final List<Group> groups = new CopyOnWriteArrayList<>();
    private volatile @Nullable DatagramChannel channel;
    private volatile @Nullable Selector selector;
    private int window = 16;
    private volatile @Nullable Thread thread;
    private final PollRate polls = new PollRate();
    /** Keeps the address for this process until the device is opened for the first time; guarded by this object. */
    private @Nullable DatagramChannel reserved;

    private record Group(Peer peer, DatagramChannel channel) {}

    /** @param address the device's, on which its socket is when it is open */
    public UdpPort(Hca device, InetAddress address) {
        this(device, address, BUFFER);
    }

    /** @param buffer bytes of the socket's receive buffer to ask for; the system gives less where its limit is lower */
    public UdpPort(Hca device, InetAddress address, int buffer) {
        this.device = device;
        this.address = address;
        this.buffer = buffer;
        this.self = new Peer(address);
        this.sender = new SocketSender(device.engine(), self, device.counters);
        MemorySegment receive = Arena.ofAuto().allocate(Icrc.HEADROOM + Packet.BUFFER_SIZE, 64);
        this.receiveIcrc = new Icrc(receive.asByteBuffer());
        this.receiveBuffer = receive.asSlice(Icrc.HEADROOM).asByteBuffer();
        this.receiveAddress = receive.address() + Icrc.HEADROOM;
    }

    /**
     * Takes the address before the device is open, so that no other process does.
     *
     * @return false if it is taken, or is not this machine's
     */
    public synchronized boolean reserve() {
        try {
            reserved = open(self.address);
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    private synchronized DatagramChannel openOrReserved() throws IOException {
        DatagramChannel opened = reserved == null ? open(self.address) : reserved;
        reserved = null;
        return opened;
    }

    /** The GIDs of a device at an address: the address. */
    public static Gids gids(InetAddress address) {
        var peer = new Peer(address);
        return new Gids(peer.gidHigh, peer.gidLow);
    }

    @Override
    public int open() {
        try {
            DatagramChannel opened = openOrReserved();
            channel = opened;
            NetworkInterface network = networkInterface(address);
            if (network != null) {
                opened.setOption(StandardSocketOptions.IP_MULTICAST_IF, network);
            }
            sender.open(opened, network);
            int room = opened.getOption(StandardSocketOptions.SO_RCVBUF);
            // The kernel keeps a packet in the next larger power of two, and counts that. The peer's room is taken to
            // be the same.
            window = Math.clamp(room / (2 * device.mtu() + 256), 16, 340);
            Selector waiting = Selector.open();
            selector = waiting;
            opened.register(waiting, SelectionKey.OP_READ);
            thread = Thread.ofPlatform().daemon().name("kverbs-" + device.name()).start(() -> receive(waiting));
            return 0;
        } catch (BindException e) {
            close();
            return local() ? taken() : -Errno.EADDRNOTAVAIL;
        } catch (UnsupportedOperationException e) {
            close();
            return -Errno.EAFNOSUPPORT; // a machine without IPv6
        } catch (IOException e) {
            close();
            return -reason(Errno.EIO);
        }
    }

    /**
     * The network interface of an address; all of 127.0.0.0/8 is the loopback interface's, though it says so of
     * 127.0.0.1 only.
     */
    public static @Nullable NetworkInterface networkInterface(InetAddress address) throws IOException {
        NetworkInterface found = NetworkInterface.getByInetAddress(address);
        return found == null && address.isLoopbackAddress()
                ? NetworkInterface.getByInetAddress(InetAddress.ofLiteral("127.0.0.1"))
                : found;
    }

    private int taken() {
        return Refusal.because(
                Errno.EADDRINUSE,
                "UDP port " + Icrc.UDP_PORT + " of " + address.getHostAddress()
                        + " is taken: by another process with an embedded device at this address, or by the kernel's "
                        + "Soft-RoCE. End that one, or take another address (`KVERBS_EMBEDDED=udp:ADDRESS`).");
    }

    private boolean local() {
        try {
            return networkInterface(address) != null;
        } catch (IOException e) {
            return false;
        }
    }

    private DatagramChannel open(InetSocketAddress at) throws IOException {
        ProtocolFamily family = self.isV4() ? StandardProtocolFamily.INET : StandardProtocolFamily.INET6;
        DatagramChannel opened = DatagramChannel.open(family);
        try {
            opened.configureBlocking(false);
            opened.setOption(StandardSocketOptions.SO_RCVBUF, buffer);
            opened.setOption(StandardSocketOptions.SO_SNDBUF, BUFFER);
            SourcePorts.wholly(opened);
            if (at.getAddress().isMulticastAddress()) {
                opened.setOption(StandardSocketOptions.SO_REUSEADDR, true);
            }
            opened.bind(at);
            return opened;
        } catch (IOException | RuntimeException e) {
            opened.close();
            throw e;
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

    private void receive(Selector waiting) {
        while (waiting.isOpen()) {
            try {
                receiveOnce(waiting);
            } catch (ClosedSelectorException e) {
                // The device was closed.
            } catch (Throwable e) {
                recover(e);
            }
        }
    }

    /**
     * Each packet has a guard of its own: this thread itself has no memory left, or the like. It never ends of that.
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
            // There is no memory to report it either.
        }
        LockSupport.parkNanos(RECOVERY);
    }

    private void receiveOnce(Selector waiting) throws IOException {
        if (polls.isDense()) {
            LockSupport.parkNanos(NAP);
        } else if (waiting.select(READY) > 0) {
            takeUnlessSomebodyPolls();
        }
    }

    private void takeUnlessSomebodyPolls() {
        // Not tryLock: while who polls has the lock, and maybe no processor, the selector would wake this thread again
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

    private void takeAll() {
        take(channel, self);
        for (int i = 0; i < groups.size(); i++) {
            Group group = groups.get(i);
            take(group.channel, group.peer);
        }
    }

    /** Takes what has come to a socket; with {@link #receiving}. */
    private void take(@Nullable DatagramChannel from, Peer to) {
        if (from == null) {
            return;
        }
        try {
            InetSocketAddress source = receiveOne(from);
            if (source == null) {
                return;
            }
            device.engine().enter();
            try {
                for (int i = 0; source != null; source = ++i < BATCH ? receiveOne(from) : null) {
                    deliverGuarded(source, to);
                }
            } finally {
                device.engine().leave();
            }
        } catch (IOException e) {
            // Closed meanwhile, or a router's complaint about a packet of ours, which the timer will notice.
        }
    }

    private @Nullable InetSocketAddress receiveOne(DatagramChannel from) throws IOException {
        receiveBuffer.clear();
        return (InetSocketAddress) from.receive(receiveBuffer);
    }

    /** Whatever a packet leads to, the next ones are taken. */
    private void deliverGuarded(InetSocketAddress source, Peer to) {
        try {
            deliver(source, to);
            PollRate.seen();
        } catch (Throwable e) {
            device.engine().report(e);
        }
    }

    private void deliver(InetSocketAddress source, Peer to) {
        int length = receiveBuffer.position() - Icrc.LENGTH;
        if (!device.isUp()) {
            return;
        }
        if (length <= 0 || !PacketCodec.decode(received, receiveAddress, length)) {
            device.counters.count(Counter.PORT_RCV_ERRORS);
            return;
        }
        Peer known = peers.known(source.getAddress());
        Peer peer = known == null ? new Peer(source.getAddress()) : known;
        if (!isIntact(peer, to, source.getPort(), length)) {
            device.counters.count(Counter.RX_ICRC_ENCAPSULATED);
            return;
        }
        if (known == null) {
            peers.keep(peer);
        }
        received.sourceGidHigh = peer.gidHigh;
        received.sourceGidLow = peer.gidLow;
        received.destinationGidHigh = to.gidHigh;
        received.destinationGidLow = to.gidLow;
        received.trafficClass = 0; // a UDP socket shows neither
        received.hopLimit = 64;
        received.flowLabel = 0;
        received.sourcePort = source.getPort();
        received.psnCount = 1;
        device.take(received);
    }

    private boolean isIntact(Peer from, Peer to, int sourcePort, int length) {
        int port = Icrc.UDP_PORT;
        return from.isV4()
                ? receiveIcrc.v4Fits((int) from.gidLow, (int) to.gidLow, sourcePort, port, receiveAddress, length)
                : receiveIcrc.v6Fits(from.gidHigh, from.gidLow, to.gidHigh, to.gidLow, sourcePort, port, receiveAddress,
                        length);
    }

    /** What the loopback interface has stays there, and gets nothing from elsewhere. */
    @Override
    public boolean leadsTo(long gidHigh, long gidLow) {
        Peer peer = Peer.of(gidHigh, gidLow);
        boolean sameSide = Gids.isMulticast(gidHigh, gidLow)
                || peer.address.getAddress().isLoopbackAddress() == address.isLoopbackAddress();
        return peer.isV4() == self.isV4() && sameSide;
    }

    /** Connecting a UDP socket sends nothing: it only asks the routing table. */
    @Override
    public boolean isUsualTo(long gidHigh, long gidLow) {
        ProtocolFamily family = self.isV4() ? StandardProtocolFamily.INET : StandardProtocolFamily.INET6;
        try (DatagramChannel probe = DatagramChannel.open(family)) {
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
        Peer group = Peer.of(gidHigh, gidLow);
        if (group.isV4() != self.isV4()) {
            return -Errno.EINVAL;
        }
        try {
            NetworkInterface network = networkInterface(address);
            if (network == null) {
                return -Errno.ENODEV;
            }
            // A socket on our address gets nothing that is sent to a group: it needs one of its own.
            InetAddress at = scoped(group.address.getAddress(), network);
            DatagramChannel opened = open(new InetSocketAddress(at, Icrc.UDP_PORT));
            try {
                opened.join(at, network);
                Selector waiting = selector;
                if (waiting != null) {
                    opened.register(waiting, SelectionKey.OP_READ);
                    waiting.wakeup();
                }
            } catch (IOException | RuntimeException e) {
                quietly(opened);
                throw e;
            }
            groups.add(new Group(group, opened));
            return 0;
        } catch (IOException | IllegalArgumentException e) {
            return -reason(Errno.ENODEV);
        }
    }

    /**
     * Why a socket could not be made: EMFILE if no file descriptor is left, or else what is given. The JDK says it in
     * words of the system's language alone, so this tries whether it can open something else.
     */
    private static int reason(int otherwise) {
        try {
            Selector.open().close();
            return otherwise;
        } catch (IOException e) {
            return Errno.EMFILE;
        }
    }

    /**
     * A group of one link, as ff02::1, is a different one on each: a socket is bound to that of an interface (RFC
     * 4007).
     */
    private static InetAddress scoped(InetAddress group, @Nullable NetworkInterface network) throws IOException {
        return group instanceof Inet6Address && network != null
                ? Inet6Address.getByAddress(null, group.getAddress(), network.getIndex())
                : group;
    }

    @Override
    public void leaveGroup(long gidHigh, long gidLow) {
        groups.removeIf(each -> {
            boolean left = each.peer.gidLow == gidLow && each.peer.gidHigh == gidHigh;
            if (left) {
                quietly(each.channel);
            }
            return left;
        });
    }

    private static void quietly(@Nullable AutoCloseable closeable) {
        try {
            if (closeable != null) {
                closeable.close();
            }
        } catch (Exception e) {
            // It is closed, whatever it says of it.
        }
    }

    @Override
    public void close() {
        groups.forEach(each -> quietly(each.channel));
        groups.clear();
        sender.close();
        quietly(selector);
        quietly(channel);
        selector = null;
        channel = null;
    }
}
