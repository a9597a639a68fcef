package org.kverbs.cm;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.kverbs.CompletionQueue;
import org.kverbs.Context;
import org.kverbs.Device;
import org.kverbs.ProtectionDomain;
import org.kverbs.QueuePairInitAttributes;
import org.kverbs.SharedReceiveQueue;
import org.kverbs.attributes.QueuePairCapabilities;

/**
 * The options of a {@link ConnectionEndpoint}: what it shares with others, the sizes of its queues, and how long its
 * steps wait. Immutable.
 *
 * @param device the device by whose provider the endpoint connects; null for the first provider that has devices, or
 *     for that of the protection domain
 * @param protectionDomain the domain of the queue pair and of the memory; null for a domain of the endpoint's own.
 *     Each endpoint without a given domain opens the device anew, with file descriptors of its own, so give one for
 *     many endpoints
 * @param sendCq the completion queue of sends, for a program that polls it itself; null for one of the endpoint's own
 * @param receiveCq the same for receives
 * @param srq the shared receive queue to take receives from; null for a receive queue of the endpoint's own
 * @param capabilities the sizes of the queues
 * @param timeout how long each step and each wait for a completion can take, unless the call has a timeout of its own
 * @param backlog how many requests can wait in a listener
 */
public record EndpointOptions(
        @Nullable Device device,
        @Nullable ProtectionDomain protectionDomain,
        @Nullable CompletionQueue sendCq,
        @Nullable CompletionQueue receiveCq,
        @Nullable SharedReceiveQueue srq,
        QueuePairCapabilities capabilities,
        Duration timeout,
        int backlog) {

    private static final int USUAL_BACKLOG = 128;

    /**
     * The defaults: nothing shared, queues of {@link QueuePairInitAttributes#DEFAULT_CAPABILITIES}, 10 seconds, a
     * backlog of 128.
     */
    public static final EndpointOptions DEFAULTS = new EndpointOptions(
            null, null, null, null, null, QueuePairInitAttributes.DEFAULT_CAPABILITIES, Duration.ofSeconds(10),
            USUAL_BACKLOG);

    /**
     * Checks that the options fit each other.
     *
     * @throws IllegalArgumentException if a queue has no protection domain of its device with it, if the device is
     *     another one than that of the domain, or if the timeout is not above 0
     */
    public EndpointOptions {
        Context context = protectionDomain == null ? null : protectionDomain.context();
        requireOf(context, sendCq == null ? null : sendCq.context(), "send completion queue");
        requireOf(context, receiveCq == null ? null : receiveCq.context(), "receive completion queue");
        requireOf(context, srq == null ? null : srq.protectionDomain().context(), "shared receive queue");
        if (device != null && context != null && !device.name().equals(context.device().name())) {
            throw new IllegalArgumentException("the protection domain is on " + context.device().name() + ", not on "
                    + device.name() + ": leave the device out");
        }
        if (!timeout.isPositive()) {
            throw new IllegalArgumentException("timeout " + timeout + " is out of range: give a time above 0");
        }
    }

    private static void requireOf(@Nullable Context domain, @Nullable Context queue, String what) {
        if (queue != null && queue != domain) {
            throw new IllegalArgumentException("the " + what + " is on "
                    + (domain == null ? "a device that the endpoint would not use" : "another open device")
                    + ": give a protection domain of the same open device, before the queue");
        }
    }

    /** Returns a copy that connects by the provider of a device. */
    public EndpointOptions on(Device device) {
        return new EndpointOptions(device, protectionDomain, sendCq, receiveCq, srq, capabilities, timeout, backlog);
    }

    /** Returns a copy that uses a protection domain of the program. */
    public EndpointOptions with(ProtectionDomain domain) {
        return new EndpointOptions(device, domain, sendCq, receiveCq, srq, capabilities, timeout, backlog);
    }

    /** Returns a copy that uses completion queues of the program. */
    public EndpointOptions with(CompletionQueue send, CompletionQueue receive) {
        return new EndpointOptions(device, protectionDomain, send, receive, srq, capabilities, timeout, backlog);
    }

    /** Returns a copy that takes receives from a shared receive queue of the program. */
    public EndpointOptions with(SharedReceiveQueue queue) {
        return new EndpointOptions(
                device, protectionDomain, sendCq, receiveCq, queue, capabilities, timeout, backlog);
    }

    /** Returns a copy with other sizes of the queues. */
    public EndpointOptions with(QueuePairCapabilities sizes) {
        return new EndpointOptions(device, protectionDomain, sendCq, receiveCq, srq, sizes, timeout, backlog);
    }

    /** Returns a copy with another timeout. */
    public EndpointOptions within(Duration limit) {
        return new EndpointOptions(device, protectionDomain, sendCq, receiveCq, srq, capabilities, limit, backlog);
    }

    /** Returns a copy with another backlog. */
    public EndpointOptions backlog(int requests) {
        return new EndpointOptions(
                device, protectionDomain, sendCq, receiveCq, srq, capabilities, timeout, requests);
    }

    /** Opens an id by these options. */
    SynchronousConnectionId open() {
        Device by = protectionDomain == null ? device : protectionDomain.context().device();
        return by == null
                ? SynchronousConnectionId.open(PortSpace.TCP) : SynchronousConnectionId.open(by, PortSpace.TCP);
    }
}
