package org.kverbs.umad;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Objects;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;
import org.kverbs.LibraryUnavailableException;
import org.kverbs.RdmaSystemException;
import org.kverbs.Resource;
import org.kverbs.internal.ErrorAdvice;
import org.kverbs.internal.Lifetime;
import org.kverbs.internal.Lifetime.Ending;
import org.kverbs.internal.Lifetime.Turn;
import org.kverbs.internal.Providers;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbUserMad;
import org.kverbs.spi.ManagementPorts;
import org.kverbs.spi.VerbsProvider;

/**
 * A port through which a program sends and receives management datagrams (umad_open_port(3)). The kernel leads each
 * answer to the program that asked, repeats nothing, and cuts and joins long messages for agents that want it.
 *
 * <pre>{@code
 * try (UmadPort port = UmadPort.open("mlx5_0", 1)) {
 *     int agent = port.register(UmadAgent.asking(0x81, 1));
 *     port.send(agent, UmadAddress.subnetManagement(0xffff), request, Duration.ofSeconds(1), 0);
 *     UmadMessage answer = port.receive(Duration.ofSeconds(2)); // null if none came
 * }
 * }</pre>
 *
 * <p>Needs libibumad, the kernel module ib_umad, and the right to open {@code /dev/infiniband/umadN}, which is root's
 * as a rule.
 *
 * <p>Safe for any thread. Two threads that receive take turns.
 */
public final class UmadPort extends Resource {

    /** The data of a datagram. A long message gets more room when it comes. */
    private static final int DATAGRAM = 256;

    /** How long a wait lasts before it looks whether the port was closed. */
    private static final int SLICE_MILLIS = 50;

    private static final int METHOD_MASK_BYTES = 16;

    /** So much memory at most for one message: more than the longest table of the largest subnet. */
    private static final int LONGEST = 1 << 30;

    private final ManagementPorts umad;
    private final Lifetime lifetime;
    private final String name;
    private final int handle;
    private final Object receiving = new Object();
    /** The header and the data of the message that is received. Used under {@link #receiving}. */
    private MemorySegment buffer;

    private UmadPort(ManagementPorts umad, String name, int handle) {
        super(new Lifetime(Turn.USERS));
        this.umad = umad;
        this.name = name;
        this.handle = handle;
        this.buffer = room(DATAGRAM);
        this.lifetime = Lifetime.DOOR.of(this);
        lifetime.begin(this, Ending.of(this::describe, this::destroy));
    }

    /**
     * Opens a port of a device.
     *
     * @param device the name of the device: {@code mlx5_0}
     * @param port the number of the port, from 1; 0 for the first that is active
     * @throws LibraryUnavailableException if libibumad is missing; the message names the package to install
     * @throws RdmaSystemException if there is no such port, or this user may not open it; the message says what to do
     */
    public static UmadPort open(String device, int port) {
        Objects.requireNonNull(device, "device");
        ManagementPorts umad = ports();
        String name = device + "/" + port;
        return Lifetime.create(
                () -> umad.openPort(device, port),
                errno -> failure("umad_open_port(" + name + ")", errno),
                handle -> new UmadPort(umad, name, (int) handle));
    }

    static ManagementPorts ports() {
        for (VerbsProvider provider : Providers.nativeFirst()) {
            ManagementPorts ports = provider.managementPorts();
            if (ports != null) {
                return ports;
            }
        }
        throw new IllegalStateException("no provider has management ports: kverbs-core is there without its services");
    }

    /**
     * Registers an agent. Closing the port ends it.
     *
     * @return the number of the agent, for {@link #send} and {@link UmadMessage#agent}
     * @throws RdmaSystemException if the port has no such class, or another agent receives one of the methods
     */
    public int register(UmadAgent agent) {
        String operation = (agent.hasOui() ? "umad_register_oui" : "umad_register") + "(" + name + ", class=0x"
                + Integer.toHexString(agent.mgmtClass()) + ")";
        byte[] oui = agent.hasOui()
                ? new byte[] {(byte) (agent.oui() >> 16), (byte) (agent.oui() >> 8), (byte) agent.oui()}
                : null;
        int rmppVersion = agent.joinsSegments() ? 1 : 0;
        try (Arena memory = Arena.ofConfined()) {
            MemorySegment methods = MemorySegment.NULL;
            if (!agent.methods().isEmpty()) {
                methods = memory.allocate(METHOD_MASK_BYTES, Long.BYTES);
                for (int method : agent.methods()) {
                    // An array of longs on little-endian machines is an array of bytes in the order of the bits.
                    int at = method / Byte.SIZE;
                    methods.set(JAVA_BYTE, at, (byte) (methods.get(JAVA_BYTE, at) | 1 << method % Byte.SIZE));
                }
            }
            MemorySegment mask = methods;
            return call(
                    operation,
                    () -> umad.register(handle, agent.mgmtClass(), agent.version(), rmppVersion, oui, mask));
        }
    }

    /**
     * Ends an agent.
     *
     * @throws RdmaSystemException if the port has no such agent
     */
    public void unregister(int agent) {
        call("umad_unregister(" + name + ", agent=" + agent + ")", () -> umad.unregister(handle, agent));
    }

    /**
     * Sends a datagram, or a long message of an agent that {@link UmadAgent#joinsSegments()}.
     *
     * @param agent the agent that sends, and that gets the answer
     * @param to where it goes
     * @param message all bytes; they are copied. The kernel writes the high 32 bits of a request's transaction id
     * @param timeout how long the kernel waits for an answer before it hands the request back as {@link
     *     UmadMessage#status} ETIMEDOUT; zero for a message that has no answer. The kernel drops an answer that it does
     *     not wait for
     * @param retries how often the kernel sends it again meanwhile
     * @throws RdmaSystemException if the kernel refuses it
     */
    public void send(int agent, UmadAddress to, byte[] message, Duration timeout, int retries) {
        int millis = (int) Math.min(Integer.MAX_VALUE, (timeout.toNanos() + 999_999) / 1_000_000);
        int header = umad.headerSize();
        try (Arena memory = Arena.ofConfined()) {
            MemorySegment datagram = memory.allocate(header + (long) message.length, Long.BYTES);
            to.writeTo(datagram.asSlice(0, header));
            MemorySegment.copy(message, 0, datagram, JAVA_BYTE, header, message.length);
            call(
                    "umad_send(" + name + ", agent=" + agent + ", length=" + message.length + ")",
                    () -> umad.send(handle, agent, datagram, message.length, millis, retries));
        }
    }

    /**
     * Waits for the next message.
     *
     * @param timeout how long to wait; zero to look only
     * @return the message, or null if none came within the time
     * @throws RdmaSystemException if the kernel refuses, such as EIO after the device went away
     * @throws IllegalStateException if the port is closed, also while this waits
     */
    public @Nullable UmadMessage receive(Duration timeout) {
        long end = System.nanoTime() + timeout.toNanos();
        String operation = "umad_recv(" + name + ")";
        while (true) {
            long left = Math.max(0, end - System.nanoTime());
            int millis = (int) Math.min(SLICE_MILLIS, (left + 999_999) / 1_000_000);
            // In slices: close waits for calls that are under way.
            int ready = lifetime.call(() -> arrived(umad.poll(handle, millis)), errno -> failure(operation, errno));
            if (ready == 1) {
                UmadMessage message = take(operation);
                if (message != null) {
                    return message;
                }
            } else if (left == 0) {
                return null;
            }
        }
    }

    private static int arrived(int result) {
        return result == -Errno.ETIMEDOUT || result == -Errno.EINTR ? 0 : result < 0 ? result : 1;
    }

    /** Receives what has arrived; null if another thread has taken it. */
    private @Nullable UmadMessage take(String operation) {
        synchronized (receiving) {
            // Another thread may have been faster, and a receive that finds nothing would wait.
            if (lifetime.call(() -> arrived(umad.poll(handle, 0)), errno -> failure(operation, errno)) == 0) {
                return null;
            }
            UmadMessage[] taken = new UmadMessage[1];
            lifetime.call(() -> read(taken), errno -> failure(operation, errno));
            return taken[0];
        }
    }

    /** Reads into the buffer, which grows if the message is longer. Returns 0 or -errno. */
    private int read(UmadMessage[] taken) {
        try (Arena memory = Arena.ofConfined()) {
            MemorySegment length = memory.allocate(JAVA_INT);
            int header = umad.headerSize();
            while (true) {
                int room = (int) buffer.byteSize() - header;
                length.set(JAVA_INT, 0, room);
                int agent = umad.receive(handle, buffer, length);
                int needed = length.get(JAVA_INT, 0);
                if (agent == -Errno.ENOSPC && needed > room && needed <= LONGEST) {
                    buffer = room(needed);
                } else if (agent < 0) {
                    return agent;
                } else {
                    taken[0] = new UmadMessage(
                            agent,
                            buffer.get(JAVA_INT, IbUserMad.STATUS),
                            UmadAddress.from(buffer.asSlice(0, header)),
                            buffer.asSlice(header, needed).toArray(JAVA_BYTE));
                    return 0;
                }
            }
        }
    }

    private MemorySegment room(int length) {
        return Arena.ofAuto().allocate(umad.headerSize() + (long) length, Long.BYTES);
    }

    private int call(String operation, IntSupplier call) {
        return lifetime.call(call, errno -> failure(operation, errno));
    }

    private static RdmaSystemException failure(String operation, int errno) {
        int positive = Math.abs(errno);
        return new RdmaSystemException(operation, positive, ErrorAdvice.ofCall(operation, positive));
    }

    private void destroy() {
        int result = umad.closePort(handle);
        if (result < 0) {
            throw failure("umad_close_port(" + name + ")", result);
        }
    }

    @Override
    public String describe() {
        return "management port " + name;
    }
}
