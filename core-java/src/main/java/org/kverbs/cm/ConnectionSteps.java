package org.kverbs.cm;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.IntSupplier;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;
import org.kverbs.QueuePair;
import org.kverbs.internal.Lifetime;
import org.kverbs.internal.SocketAddresses;
import org.kverbs.internal.values.Ranges;

/**
 * The steps of a connection id. If the network or the peer makes one fail, the failure is a {@link
 * ConnectionException}.
 */
final class ConnectionSteps {

    private static final int MAX_PRIVATE_DATA = 255;

    private final ConnectionId id;
    private final ConnectionAddresses addresses;
    private volatile boolean isListening;

    ConnectionSteps(ConnectionId id, ConnectionAddresses addresses) {
        this.id = id;
        this.addresses = addresses;
    }

    void bind(InetSocketAddress local) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment address = SocketAddresses.allocate(arena, local);
            id.command(
                    "rdma_bind_addr(" + SocketAddresses.format(local) + ")",
                    () -> id.manager().bindAddress(id.handle(), address));
            addresses.bound = local;
        }
    }

    void listen(int backlog) {
        InetSocketAddress address = addresses.bound;
        String where = address == null ? "any port" : SocketAddresses.format(address);
        id.command("rdma_listen(" + where + ")", () -> id.manager().listen(id.handle(), backlog));
        isListening = true;
    }

    boolean isListening() {
        return isListening;
    }

    void resolveAddress(@Nullable InetSocketAddress source, InetSocketAddress destination, Duration timeout) {
        int millis = millis(timeout);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment from = source == null ? null : SocketAddresses.allocate(arena, source);
            MemorySegment to = SocketAddresses.allocate(arena, destination);
            addresses.peer = destination; // before the event can come
            String way = (source == null ? "" : "from " + SocketAddresses.format(source) + " ") + "to "
                    + SocketAddresses.format(destination);
            begin(
                    ConnectionStep.RESOLVE_ADDRESS,
                    "rdma_resolve_addr(" + way + ")",
                    () -> id.manager().resolveAddress(id.handle(), from, to, millis));
        }
    }

    void resolveRoute(Duration timeout) {
        int millis = millis(timeout);
        begin(
                ConnectionStep.RESOLVE_ROUTE,
                addresses.naming("rdma_resolve_route"),
                () -> id.manager().resolveRoute(id.handle(), millis));
    }

    private static int millis(Duration timeout) {
        if (!timeout.isPositive()) {
            throw new IllegalArgumentException("timeout " + timeout + " is out of range: give a time above 0");
        }
        long millis = TimeUnit.MILLISECONDS.convert(timeout);
        if (millis >= Integer.MAX_VALUE) {
            return Integer.MAX_VALUE;
        }
        return (int) (timeout.toNanosPart() % 1_000_000 == 0 ? millis : millis + 1);
    }

    void connect(QueuePair qp, ConnectionParameters parameters) {
        with(qp, parameters, given -> begin(
                ConnectionStep.CONNECT,
                addresses.naming("rdma_connect"),
                () -> id.manager().connect(id.handle(), given)));
    }

    void accept(QueuePair qp, ConnectionParameters parameters) {
        with(qp, parameters, given -> begin(
                ConnectionStep.ACCEPT,
                addresses.naming("rdma_accept"),
                () -> id.manager().accept(id.handle(), given)));
    }

    /** Rejects a request by one of the two calls for that. */
    void reject(String operation, byte[] privateData, ToIntFunction<MemorySegment> call) {
        Ranges.require("length of private data", privateData.length, 0, MAX_PRIVATE_DATA);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment data = arena.allocateFrom(JAVA_BYTE, privateData);
            id.command(addresses.naming(operation), () -> call.applyAsInt(data));
        }
    }

    private static void with(QueuePair qp, ConnectionParameters parameters, Consumer<MemorySegment> step) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment given = parameters.allocate(arena, qp.number(), qp.srq() != null);
            Lifetime used = Lifetime.DOOR.of(qp);
            used.enter();
            try {
                step.accept(given);
            } finally {
                used.exit();
            }
        }
    }

    /**
     * Begins a step. A failure by the network or the peer is thrown here if it is known at once, and otherwise comes as
     * an event.
     */
    private void begin(ConnectionStep step, String operation, IntSupplier call) {
        id.lifetime.enter();
        try {
            int result = call.getAsInt();
            if (result < 0 && ConnectionErrors.isOfNetwork(-result)) {
                throw ConnectionErrors.of(step, addresses.peer, -result, id.manager().reach());
            }
            Failures.check(operation, result);
        } finally {
            id.lifetime.exit();
        }
    }
}
