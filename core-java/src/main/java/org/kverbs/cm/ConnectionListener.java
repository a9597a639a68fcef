package org.kverbs.cm;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kverbs.RdmaSystemException;

/**
 * Listens for connection requests, and makes a {@link ConnectionEndpoint} of each. {@link ConnectionEndpoint#listen}
 * makes a listener.
 *
 * <p>Each endpoint is on its own: closing the listener stops listening and leaves the endpoints open.
 *
 * <p>Safe for any thread. Several threads can wait for requests; each request goes to one of them. A wait ends after
 * its timeout, when the thread is interrupted, and when another thread closes the listener. Source: {@code man 3
 * rdma_listen}, {@code rdma_get_request}.
 */
public final class ConnectionListener implements AutoCloseable {

    private final SynchronousConnectionId id;
    private final EndpointOptions options;

    ConnectionListener(SynchronousConnectionId id, EndpointOptions options) {
        this.id = id;
        this.options = options;
    }

    /** Returns the address that it listens at, with the port that it got; null for an address that is not IP. */
    public @Nullable InetSocketAddress localAddress() {
        return id.id().localAddress();
    }

    /** Waits for a request; see {@link #awaitRequest(Duration)}. */
    public ConnectionEndpoint awaitRequest() throws InterruptedException {
        return awaitRequest(options.timeout());
    }

    /**
     * Waits for a request, and makes an endpoint of it with a queue pair in INIT, where it takes receives ({@code
     * rdma_get_request}). The caller accepts or rejects it; the peer waits for the answer, but not for ever. If the
     * endpoint cannot be made, the request is rejected.
     *
     * @return an endpoint whose {@link ConnectionEndpoint#event} is the request
     * @throws ConnectionTimeoutException if none comes in time
     * @throws ConnectionException if the peer of the request has gone meanwhile
     * @throws RdmaSystemException if the device refuses the queue pair
     * @throws IllegalArgumentException if the request came to another device than that of the options' protection
     *     domain
     * @throws IllegalStateException if the listener is closed
     */
    public ConnectionEndpoint awaitRequest(Duration timeout) throws InterruptedException {
        return new ConnectionEndpoint(id.awaitRequest(timeout), options);
    }

    /** Waits for a request and accepts it; see {@link #accept(Duration)}. */
    public ConnectionEndpoint accept() throws InterruptedException {
        return accept(options.timeout());
    }

    /**
     * Waits for a request, accepts it with default parameters, and waits until the peer is ready. Take {@link
     * #awaitRequest} instead if the peer sends first: it can send before this call returns, and tries again until a
     * receive is posted.
     *
     * @throws ConnectionException if no request comes in time, or if the peer is gone
     */
    public ConnectionEndpoint accept(Duration timeout) throws InterruptedException {
        ConnectionEndpoint made = awaitRequest(timeout);
        try {
            made.accept();
            return made;
        } catch (Throwable e) {
            Closing.after(e, List.of(made));
            throw e;
        }
    }

    /** Returns whether this listener is open. */
    public boolean isOpen() {
        return id.isOpen();
    }

    /** Stops listening, and rejects the requests that wait. */
    @Override
    public void close() {
        id.close();
    }

    /** Returns the description of the listening id. */
    @Override
    public String toString() {
        return id.id().describe();
    }
}
