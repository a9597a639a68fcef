package org.kverbs.cm;

import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kverbs.CompletionChannel;
import org.kverbs.CompletionQueue;
import org.kverbs.MemoryRegion;
import org.kverbs.MemorySlice;
import org.kverbs.ProtectionDomain;
import org.kverbs.QueuePair;
import org.kverbs.RdmaSystemException;
import org.kverbs.RdmaTimeoutException;
import org.kverbs.RemoteMemory;
import org.kverbs.WorkCompletion;
import org.kverbs.WorkCompletionException;
import org.kverbs.WorkRequestException;
import org.kverbs.attributes.AccessFlag;
import org.kverbs.internal.SocketAddresses;

/**
 * One end of a reliable connection with all that it needs: a {@link SynchronousConnectionId}, a queue pair and two
 * completion queues. It is what {@code rdma_create_ep} and the helpers of {@code <rdma/rdma_verbs.h>} are in C.
 *
 * <pre>{@code
 * // the connecting side                                       // the listening side
 * try (var client = ConnectionEndpoint.to(address)) {          try (var listener = ConnectionEndpoint.listen(address);
 *                                                                   var server = listener.awaitRequest()) {
 *     MemoryRegion memory = client.messageRegion(64);              MemoryRegion memory = server.messageRegion(64);
 *                                                                  server.postReceive(1, memory.slice());
 *     client.connect();                                            server.accept();
 *     memory.memory().setString(0, "Hello");
 *     client.postSend(1, memory.slice());                          server.awaitReceive();
 *     client.awaitSend();                                          System.out.println(memory.memory().getString(0));
 * }                                                            }
 * }</pre>
 *
 * <p>Post the receives for the peer's first messages before {@link #connect()} or {@link #accept()}: the peer can send
 * as soon as the connection is up. Over iWARP the connecting side sends first (RFC 5044, section 7.1.2).
 *
 * <p><b>Waiting.</b> Each wait ends after its timeout, when the thread is interrupted, when another thread closes the
 * endpoint, and when the connection ends. A wait for a completion polls for some microseconds and then waits for an
 * event; it notices the end of the connection within 50 ms. A call blocks its thread; a virtual thread blocks its
 * carrier too.
 *
 * <p><b>Ownership.</b> The endpoint owns its id, its queue pair and what {@link EndpointOptions} did not give. Closing
 * it ends the connection, and closes the memory of its own protection domain. Memory in a domain of the program stays
 * open.
 *
 * <p><b>The end of the connection.</b> When the peer disconnects or its program ends, the outstanding requests are
 * flushed, and each wait throws a {@link ConnectionException} once no completed message is left. As in C, an endpoint
 * notices this in its own calls alone.
 *
 * <p>Safe for any thread: one can wait for receives while another sends. Source: {@code man 3 rdma_create_ep}, {@code
 * rdma_get_request}, {@code rdma_create_qp}, {@code rdma_post_send}, {@code rdma_get_send_comp}.
 */
public final class ConnectionEndpoint implements AutoCloseable {

    private final SynchronousConnectionId connection;
    private final EndpointOptions options;
    private final EndpointResources resources;
    private final QueuePair queuePair;
    private final EndpointEnd end;
    private final @Nullable EndpointCompletions sends;
    private final @Nullable EndpointCompletions receives;
    private volatile @Nullable ConnectionEvent event;

    /** Takes the id over, and closes it if the queue pair cannot be made. */
    ConnectionEndpoint(SynchronousConnectionId connection, EndpointOptions options) {
        this.connection = connection;
        this.options = options;
        this.event = connection.request();
        try {
            this.resources = new EndpointResources(connection, options);
        } catch (Throwable e) {
            Closing.after(e, List.of(connection));
            throw e;
        }
        this.queuePair = resources.queuePair();
        this.end = new EndpointEnd(connection, queuePair);
        this.sends = options.sendCq() == null ? completions(queuePair.sendCq()) : null;
        this.receives = options.receiveCq() == null ? completions(queuePair.recvCq()) : null;
    }

    private @Nullable EndpointCompletions completions(CompletionQueue queue) {
        CompletionChannel channel = queue.channel();
        return channel == null ? null : new EndpointCompletions(queue, channel, end);
    }

    /** Makes an endpoint to an address with default options; see {@link #to(InetSocketAddress, EndpointOptions)}. */
    public static ConnectionEndpoint to(InetSocketAddress destination) throws InterruptedException {
        return to(destination, EndpointOptions.DEFAULTS);
    }

    /**
     * Makes an endpoint to an address: resolves the address and the route, and makes the queue pair in INIT, where it
     * takes receives ({@code rdma_create_ep}). {@link #connect()} connects it.
     *
     * @throws ConnectionException if no device or route leads there; {@link ConnectionTimeoutException} if the network
     *     does not answer in time
     * @throws RdmaSystemException if the device refuses; the message names an exceeded limit
     */
    public static ConnectionEndpoint to(InetSocketAddress destination, EndpointOptions options)
            throws InterruptedException {
        return resolved(null, destination, options);
    }

    /**
     * Makes an endpoint to a result of {@link ConnectionEventChannel#addressInfo}, from its source if it has one;
     * otherwise as above.
     *
     * @throws IllegalArgumentException if {@code found} has no destination, or is not of port space TCP
     */
    public static ConnectionEndpoint to(AddressInfo found, EndpointOptions options) throws InterruptedException {
        requireTcp(found);
        return resolved(found.source(), found.requireDestination(), options);
    }

    private static void requireTcp(AddressInfo found) {
        if (found.portSpace() != PortSpace.TCP) {
            throw new IllegalArgumentException(found + " is not of port space TCP, and an endpoint is a reliable "
                    + "connection: for datagrams take SynchronousConnectionId or ConnectionId");
        }
    }

    private static ConnectionEndpoint resolved(
            @Nullable InetSocketAddress source, InetSocketAddress destination, EndpointOptions options)
            throws InterruptedException {
        SynchronousConnectionId id = options.open();
        try {
            id.resolveAddress(source, destination, options.timeout());
            id.resolveRoute(options.timeout());
        } catch (Throwable e) {
            Closing.after(e, List.of(id));
            throw e;
        }
        return new ConnectionEndpoint(id, options);
    }

    /** Listens with default options; see {@link #listen(InetSocketAddress, EndpointOptions)}. */
    public static ConnectionListener listen(InetSocketAddress local) {
        return listen(local, EndpointOptions.DEFAULTS);
    }

    /**
     * Listens for connection requests ({@code rdma_create_ep} with a passive address, {@code rdma_listen}).
     *
     * @param local the address and port; the wildcard address listens on all devices, port 0 takes a free port
     * @param options the options of the endpoints of requests
     * @throws RdmaSystemException if the address is not of this machine, or the port is taken
     */
    public static ConnectionListener listen(InetSocketAddress local, EndpointOptions options) {
        SynchronousConnectionId id = options.open();
        try {
            id.id().bind(local);
            id.id().listen(options.backlog());
        } catch (Throwable e) {
            Closing.after(e, List.of(id));
            throw e;
        }
        return new ConnectionListener(id, options);
    }

    /**
     * Listens at a result of {@link ConnectionEventChannel#addressInfo} with passive hints; otherwise as above.
     *
     * @throws IllegalArgumentException if {@code found} has no source, or is not of port space TCP
     */
    public static ConnectionListener listen(AddressInfo found, EndpointOptions options) {
        requireTcp(found);
        InetSocketAddress local = found.source();
        if (local == null) {
            throw new IllegalArgumentException(found + " has no address to listen on; ask with AddressHints.passive");
        }
        return listen(local, options);
    }

    /** Connects with default parameters; see {@link #connect(ConnectionParameters)}. */
    public void connect() throws InterruptedException {
        connect(ConnectionParameters.DEFAULTS);
    }

    /**
     * Connects to the peer, and waits until it has accepted ({@code rdma_connect}). After a failure, close the endpoint
     * and make a new one.
     *
     * @throws ConnectionRejectedException if no program listens there, or the peer rejects the request
     * @throws ConnectionTimeoutException if the peer does not answer in time
     * @throws RdmaSystemException if the private data is too long, or the endpoint is connected already: EINVAL
     */
    public void connect(ConnectionParameters parameters) throws InterruptedException {
        event = connection.connect(queuePair, parameters, options.timeout());
    }

    /** Accepts with default parameters; see {@link #accept(ConnectionParameters)}. */
    public void accept() throws InterruptedException {
        accept(ConnectionParameters.DEFAULTS);
    }

    /**
     * Accepts the peer's request, and waits until the peer is ready ({@code rdma_accept}).
     *
     * @throws ConnectionException if the peer is gone; {@link ConnectionTimeoutException} if it does not answer in time
     * @throws RdmaSystemException if the private data is too long: EINVAL
     * @throws IllegalStateException if the endpoint is of no request
     */
    public void accept(ConnectionParameters parameters) throws InterruptedException {
        if (!id().isPassive()) {
            throw new IllegalStateException(this + " has no request to accept: call connect; an endpoint of"
                    + " ConnectionListener.awaitRequest accepts");
        }
        connection.accept(queuePair, parameters, options.timeout());
    }

    /**
     * Rejects the peer's request, and closes the endpoint ({@code rdma_reject}).
     *
     * @param privateData bytes for the peer, at most 148 on InfiniBand and RoCE
     */
    public void reject(byte[] privateData) {
        try (this) {
            connection.id().reject(privateData);
        }
    }

    /**
     * Returns the event with the peer's request or answer ({@code id->event}): its private data and parameters. Null
     * before the peer has answered.
     */
    public @Nullable ConnectionEvent event() {
        return event;
    }

    /** Returns the id, for its addresses and options. */
    public ConnectionId id() {
        return connection.id();
    }

    /** Returns the queue pair, for requests that have no helper here. */
    public QueuePair queuePair() {
        return queuePair;
    }

    /** Returns the protection domain of the queue pair. */
    public ProtectionDomain protectionDomain() {
        return resources.domain();
    }

    /**
     * Allocates and registers memory for messages, and as the source of writes ({@code rdma_reg_msgs}).
     *
     * @param length the number of bytes
     * @throws RdmaSystemException as {@link ProtectionDomain#memoryRegion}
     */
    public MemoryRegion messageRegion(long length) {
        return resources.domain().memoryRegion(length, AccessFlag.LOCAL_WRITE);
    }

    /** Registers memory of the caller; see {@link ProtectionDomain#register(MemorySegment, AccessFlag...)}. */
    public MemoryRegion messageRegion(MemorySegment memory) {
        return resources.domain().register(memory, AccessFlag.LOCAL_WRITE);
    }

    /** Allocates and registers memory that the peer can read ({@code rdma_reg_read}). */
    public MemoryRegion readableRegion(long length) {
        return resources.domain().memoryRegion(length, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
    }

    /** Registers the caller's memory for reads by the peer. */
    public MemoryRegion readableRegion(MemorySegment memory) {
        return resources.domain().register(memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
    }

    /**
     * Allocates and registers memory that the peer can write ({@code rdma_reg_write}). Over iWARP, take such memory for
     * the target of {@link #postRead} too.
     */
    public MemoryRegion writableRegion(long length) {
        return resources.domain().memoryRegion(length, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
    }

    /** Registers the caller's memory for writes by the peer. */
    public MemoryRegion writableRegion(MemorySegment memory) {
        return resources.domain().register(memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
    }

    /**
     * Posts memory for a message of the peer ({@code rdma_post_recv}).
     *
     * @param workRequestId the number that the completion has
     * @throws WorkRequestException ENOMEM if the receive queue is full
     */
    public void postReceive(long workRequestId, MemorySlice buffer) {
        queuePair.postReceive(workRequestId, buffer);
    }

    /**
     * Posts a message to the peer, with a completion ({@code rdma_post_send}). The memory belongs to the device until
     * the completion.
     *
     * @throws WorkRequestException ENOMEM if the send queue is full; EINVAL if the endpoint is not connected
     */
    public void postSend(long workRequestId, MemorySlice message) {
        queuePair.postSend(workRequestId, message);
    }

    /** Posts a read of the peer's memory, with a completion among those of sends ({@code rdma_post_read}). */
    public void postRead(long workRequestId, MemorySlice into, RemoteMemory from) {
        queuePair.postRead(workRequestId, into, from);
    }

    /** Posts a write to the peer's memory, with a completion among those of sends ({@code rdma_post_write}). */
    public void postWrite(long workRequestId, MemorySlice from, RemoteMemory to) {
        queuePair.postWrite(workRequestId, from, to);
    }

    /** Waits for the next completion of a send, read or write; see {@link #awaitSend(Duration)}. */
    public WorkCompletion awaitSend() throws InterruptedException {
        return awaitSend(options.timeout());
    }

    /**
     * Waits for the next completion of a send, read or write, and returns a copy ({@code rdma_get_send_comp}). They
     * complete in the order in which they were posted.
     *
     * @throws WorkCompletionException if the request failed
     * @throws ConnectionException if the connection has ended
     * @throws RdmaTimeoutException if none completes in time
     * @throws IllegalStateException if the endpoint is closed, or {@link EndpointOptions} gave the queue
     */
    public WorkCompletion awaitSend(Duration timeout) throws InterruptedException {
        return own(sends).await(timeout);
    }

    /** Waits for the next message; see {@link #awaitReceive(Duration)}. */
    public WorkCompletion awaitReceive() throws InterruptedException {
        return awaitReceive(options.timeout());
    }

    /**
     * Waits for the next message, and returns a copy of its completion ({@code rdma_get_recv_comp}). Errors as for
     * {@link #awaitSend(Duration)}.
     */
    public WorkCompletion awaitReceive(Duration timeout) throws InterruptedException {
        return own(receives).await(timeout);
    }

    private static EndpointCompletions own(@Nullable EndpointCompletions completions) {
        if (completions == null) {
            throw new IllegalStateException("the completion queue of this endpoint is one of the program: poll that, or"
                    + " wait on its channel");
        }
        return completions;
    }

    /**
     * Ends the connection, has the outstanding requests flushed, and waits until the peer has answered ({@code
     * rdma_disconnect}). An endpoint of the peer answers in its next wait, or by its close.
     *
     * @return whether the peer answered in time; the connection has ended in both cases
     * @throws RdmaSystemException if the endpoint is not connected
     */
    public boolean disconnect() throws InterruptedException {
        return end.begin(options.timeout());
    }

    /**
     * Waits for the end of the connection by the peer.
     *
     * @return whether it has ended; false if the time ran out
     */
    public boolean awaitEnd(Duration timeout) throws InterruptedException {
        return end.await(timeout);
    }

    /** Returns whether this endpoint is open. It can be open after the end of its connection. */
    public boolean isOpen() {
        return connection.isOpen();
    }

    /** Ends the connection, and closes what this endpoint owns ({@code rdma_destroy_ep}). */
    @Override
    public void close() {
        Closing.all(List.of(connection, resources));
    }

    /** Names both addresses and the queue pair. */
    @Override
    public String toString() {
        InetSocketAddress peer = connection.id().addresses().peer;
        return "endpoint to " + (peer == null ? "no peer" : SocketAddresses.format(peer)) + " by "
                + queuePair.describe();
    }
}
