package org.kverbs.cm;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.kverbs.Device;
import org.kverbs.QueuePair;
import org.kverbs.RdmaSystemException;
import org.kverbs.attributes.QueuePairAttributes;
import org.kverbs.attributes.QueuePairState;
import org.kverbs.attributes.QueuePairType;

/**
 * A connection id whose calls wait for the end of their step: the synchronous operation of librdmacm, an id without an
 * event channel of the program's ({@code rdma_create_id} with a NULL channel). {@link ConnectionEndpoint} adds the
 * queue pair.
 *
 * <pre>{@code
 * try (SynchronousConnectionId id = SynchronousConnectionId.open(PortSpace.TCP)) {
 *     id.resolveAddress(new InetSocketAddress("10.0.0.1", 7471), Duration.ofSeconds(2));
 *     id.resolveRoute(Duration.ofSeconds(2));
 *     id.id().prepare(qp, QueuePairState.INIT); // a queue pair on id.id().device()
 *     id.connect(qp, ConnectionParameters.DEFAULTS, Duration.ofSeconds(10));
 *     ...
 * }
 * }</pre>
 *
 * <p><b>Waiting.</b> Each wait ends after its timeout, when the thread is interrupted, and when another thread closes
 * this id. A step that did not end in time can still end later, so close the id then. A call blocks its thread; a
 * virtual thread blocks its carrier too.
 *
 * <p><b>Ownership.</b> The id has an event channel of its own, which nobody else can take events from. Closing this
 * object closes both. {@link #migrate} gives the id to a channel of the program.
 *
 * <p>Safe for any thread. One thread at a time takes a step or waits for an event; others wait for their turn, at most
 * for their timeout.
 *
 * <p>Source: {@code man 7 rdma_cm} (synchronous operation), {@code man 3 rdma_create_id}, {@code rdma_migrate_id},
 * {@code rdma_get_request}.
 */
public final class SynchronousConnectionId implements AutoCloseable {

    /** Code of 0.64 ms. The connection manager sets 655 ms, the longest time. */
    private static final int SOON = 12;
    /** The most private data that an answer carries, over InfiniBand and RoCE: 196 bytes (IBA volume 1, 12.7.6). */
    private static final int MOST_PRIVATE_DATA = 196;

    private final ConnectionId id;
    private final StepEvents events;
    private final @Nullable ConnectionEvent request;

    private SynchronousConnectionId(ConnectionId id, @Nullable ConnectionEvent request) {
        this.id = id;
        this.events = new StepEvents(id);
        this.request = request;
    }

    /**
     * Makes an id of the first provider that has devices, as {@link ConnectionEventChannel#open()} does; it throws the
     * same exceptions.
     */
    public static SynchronousConnectionId open(PortSpace portSpace) {
        return onItsChannel(ConnectionEventChannel.open(), portSpace);
    }

    /**
     * Makes an id of a device's provider, as {@link ConnectionEventChannel#open(Device)} does; it throws the same
     * exceptions.
     */
    public static SynchronousConnectionId open(Device device, PortSpace portSpace) {
        return onItsChannel(ConnectionEventChannel.open(device), portSpace);
    }

    private static SynchronousConnectionId onItsChannel(ConnectionEventChannel channel, PortSpace portSpace) {
        try {
            return new SynchronousConnectionId(channel.id(portSpace), null);
        } catch (Throwable e) {
            channel.close();
            throw e;
        }
    }

    /**
     * Takes an id away from its channel, so that its steps can be waited for ({@code rdma_migrate_id} to a NULL
     * channel). Its pending events come with it. Do not call this while another thread takes events of the id.
     *
     * @throws IllegalStateException if the id or its channel is closed
     */
    public static SynchronousConnectionId of(ConnectionId id) {
        return of(id, null);
    }

    private static SynchronousConnectionId of(ConnectionId id, @Nullable ConnectionEvent request) {
        ConnectionEventChannel own = id.channel().another();
        try {
            id.migrate(own);
            return new SynchronousConnectionId(id, request);
        } catch (Throwable e) {
            own.close();
            throw e;
        }
    }

    /**
     * Returns the id, for the calls that do not wait: {@link ConnectionId#bind}, {@link ConnectionId#listen}, {@link
     * ConnectionId#prepare}, {@link ConnectionId#reject}, the addresses and the options. Do not begin a step on it that
     * this class has.
     */
    public ConnectionId id() {
        return id;
    }

    /** Returns the event of the request that made this id, with the peer's private data; null for every other id. */
    public @Nullable ConnectionEvent request() {
        return request;
    }

    /** Returns whether this id is open. */
    public boolean isOpen() {
        return id.isOpen();
    }

    /**
     * Finds the device that leads to an address and binds the id to it; see {@link
     * ConnectionId#resolveAddress(InetSocketAddress, InetSocketAddress, Duration)}.
     *
     * @param source the local address to connect from; null for that of the route
     * @throws ConnectionException if no device leads there; {@link ConnectionTimeoutException} if no host answers
     */
    public void resolveAddress(@Nullable InetSocketAddress source, InetSocketAddress destination, Duration timeout)
            throws InterruptedException {
        events.step(ConnectionStep.RESOLVE_ADDRESS, timeout, ConnectionEventType.ADDR_RESOLVED, () -> {
            if (source == null) {
                id.resolveAddress(destination, timeout);
            } else {
                id.resolveAddress(source, destination, timeout);
            }
        });
    }

    /** Finds the device that leads to an address, from the source address of the route; otherwise as above. */
    public void resolveAddress(InetSocketAddress destination, Duration timeout) throws InterruptedException {
        resolveAddress(null, destination, timeout);
    }

    /**
     * Finds the route to the address.
     *
     * @throws ConnectionException if there is none; {@link ConnectionTimeoutException} if the subnet manager does not
     *     answer
     */
    public void resolveRoute(Duration timeout) throws InterruptedException {
        events.step(ConnectionStep.RESOLVE_ROUTE, timeout, ConnectionEventType.ROUTE_RESOLVED,
                () -> id.resolveRoute(timeout));
    }

    /**
     * Connects to the peer, and moves the queue pair to RTS. There a peer that finds no receive tries again after 0.64
     * ms. A datagram id gets the peer's queue pair and address.
     *
     * @param qp a queue pair in INIT; if the peer can send first, with receives posted
     * @return the event with the peer's answer: its private data, or for datagrams its address
     * @throws ConnectionRejectedException if no program listens there, or the peer rejects the request
     * @throws ConnectionTimeoutException if the peer does not answer in time
     * @throws RdmaSystemException if a step is missing, or the parameters are wrong: EINVAL
     */
    public ConnectionEvent connect(QueuePair qp, ConnectionParameters parameters, Duration timeout)
            throws InterruptedException {
        return events.inTurn(ConnectionStep.CONNECT, timeout, wait -> {
            if (id.portSpace().isDatagram()) {
                bringUp(qp);
            }
            id.connect(qp, parameters);
            ConnectionEvent answer = wait.until(ConnectionEventType.CONNECT_RESPONSE, ConnectionEventType.ESTABLISHED);
            if (answer.type() == ConnectionEventType.CONNECT_RESPONSE) { // iWARP and datagrams have none
                withPeer(ConnectionStep.CONNECT, () -> {
                    bringUp(qp);
                    id.establish();
                });
            }
            return answer;
        });
    }

    /**
     * Waits for a connection request to this id, which listens ({@code rdma_get_request}).
     *
     * @return a synchronous id for the request, which the caller accepts or rejects, and closes; it stays open when
     *     this one is closed
     * @throws ConnectionTimeoutException if none comes in time
     */
    public SynchronousConnectionId awaitRequest(Duration timeout) throws InterruptedException {
        return events.inTurn(ConnectionStep.ACCEPT, timeout, wait -> {
            ConnectionEvent asked = wait.until(ConnectionEventType.CONNECT_REQUEST);
            try {
                return of(asked.id(), asked);
            } catch (RuntimeException e) {
                asked.id().close();
                throw events.named(e);
            } catch (Error e) {
                asked.id().close();
                throw e;
            }
        });
    }

    /**
     * Accepts the request that made this id: moves the queue pair to RTS, and waits until the peer is ready. For
     * datagrams there is no wait. The number of reads and atomics is limited to what the peer asked for.
     *
     * @param qp a queue pair in INIT, with receives posted
     * @throws ConnectionException if the peer is gone; {@link ConnectionTimeoutException} if it does not answer in time
     * @throws RdmaSystemException if this id is of no request, or the parameters are wrong: EINVAL
     */
    public void accept(QueuePair qp, ConnectionParameters parameters, Duration timeout) throws InterruptedException {
        events.inTurn(ConnectionStep.ACCEPT, timeout, wait -> {
            withPeer(ConnectionStep.ACCEPT, () -> bringUp(qp));
            Runnable answer = () -> id.accept(qp, withinRequest(parameters));
            if (parameters.privateData().length > MOST_PRIVATE_DATA) {
                answer.run(); // librdmacm refuses it by the errno that it has for a peer that is gone
            } else {
                withPeer(ConnectionStep.ACCEPT, answer);
            }
            if (!id.portSpace().isDatagram()) {
                awaitReadiness(wait);
            }
            return null;
        });
    }

    /**
     * Waits until the peer is ready. A peer that has disconnected was ready, although the network lost its message
     * about it: what it sent before has arrived.
     */
    private void awaitReadiness(StepEvents.Wait wait) throws InterruptedException {
        ConnectionEvent event = wait.until(ConnectionEventType.ESTABLISHED, ConnectionEventType.DISCONNECTED);
        if (event.type() == ConnectionEventType.DISCONNECTED && id.hasDisconnected()) {
            throw new ConnectionException(ConnectionStep.ACCEPT, id.addresses().named(ConnectionStep.ACCEPT),
                    event.status(), "this side disconnected before the peer was ready");
        }
    }

    private ConnectionParameters withinRequest(ConnectionParameters parameters) {
        ConnectionEvent asked = request;
        return asked == null || id.portSpace().isDatagram()
                ? parameters
                : parameters.withReads(
                        Math.min(parameters.responderResources(), asked.responderResources()),
                        Math.min(parameters.initiatorDepth(), asked.initiatorDepth()));
    }

    /** Moves a queue pair to INIT; the exception says so if the peer of a request has gone. */
    void toInit(QueuePair qp) {
        if (request == null) {
            id.prepare(qp, QueuePairState.INIT);
        } else {
            withPeer(ConnectionStep.ACCEPT, () -> id.prepare(qp, QueuePairState.INIT));
        }
    }

    /** Moves a queue pair to RTS, and lets a sender that finds no receive here try again soon. */
    private void bringUp(QueuePair qp) {
        id.prepare(qp, QueuePairState.RTR);
        id.prepare(qp, QueuePairState.RTS);
        if (qp.type() == QueuePairType.RC && qp.state() == QueuePairState.RTS) { // iWARP gets there by itself, later
            qp.modify(QueuePairAttributes.builder().minRnrTimer(SOON).build());
        }
    }

    /**
     * Runs calls that answer the peer. The manager refuses them with EINVAL once the peer is gone, and has no
     * attributes for a queue pair any more. The exception then names the peer.
     */
    private void withPeer(ConnectionStep step, Runnable calls) {
        try {
            calls.run();
        } catch (RdmaSystemException e) {
            boolean isGone = e.operation().startsWith("rdma_") && "EINVAL".equals(e.errnoName()) && !hasAttributes();
            if (!isGone) {
                throw e;
            }
            ConnectionException gone = new ConnectionException(step, id.addresses().peer, 0,
                    "the peer has gone: it was closed, or gave up waiting. If it happens often, answer sooner.");
            gone.initCause(e);
            throw gone;
        }
    }

    private boolean hasAttributes() {
        try {
            id.queuePairAttributes(QueuePairState.INIT);
            return true;
        } catch (RdmaSystemException e) {
            return false;
        }
    }

    /**
     * Ends the connection, or answers a peer that ended it, and waits until the peer has answered. The program itself
     * moves the queue pair to ERR.
     *
     * @return whether the peer answered in time; the connection has ended in both cases
     * @throws RdmaSystemException if the id is not connected
     */
    public boolean disconnect(Duration timeout) throws InterruptedException {
        if (events.hasEnded()) {
            answer();
            return true;
        }
        id.disconnect();
        return events.awaitEnd(timeout);
    }

    /** Answers the peer, which waits for it, unless that was done. */
    private void answer() {
        if (id.hasDisconnected()) {
            return;
        }
        try {
            id.disconnect();
        } catch (RdmaSystemException e) {
            // The device is gone, or the manager has answered by itself.
        }
    }

    /**
     * Waits until the peer, or another thread, has ended the connection.
     *
     * @return whether it has ended; false if the time ran out
     * @throws IllegalStateException if this id listens
     */
    public boolean awaitEnd(Duration timeout) throws InterruptedException {
        return events.awaitEnd(timeout);
    }

    /**
     * Joins a multicast group; see {@link ConnectionId#joinMulticast(InetSocketAddress, boolean)}.
     *
     * @return the event with the address of the group
     * @throws ConnectionException if joining failed
     */
    public ConnectionEvent joinMulticast(InetSocketAddress group, boolean sendOnly, Duration timeout)
            throws InterruptedException {
        return events.step(ConnectionStep.JOIN_MULTICAST, timeout, ConnectionEventType.MULTICAST_JOIN,
                () -> id.joinMulticast(group, sendOnly));
    }

    /**
     * Gives the id to a channel, which reports its events from now on ({@code rdma_migrate_id}), and closes this
     * object's own channel. This object cannot be used afterwards.
     *
     * @return the id, which belongs to {@code to}
     * @throws IllegalArgumentException if the channel is of another provider
     */
    public ConnectionId migrate(ConnectionEventChannel to) {
        Objects.requireNonNull(to, "to");
        ConnectionEventChannel own = id.channel();
        events.require(own);
        id.migrate(to);
        own.close();
        return id;
    }

    StepEvents events() {
        return events;
    }

    /** Closes the id and its channel. The peer of an established connection gets DISCONNECTED. */
    @Override
    public void close() {
        events.close();
    }

    /** Returns the description of the id. */
    @Override
    public String toString() {
        return "synchronous " + id.describe();
    }
}
