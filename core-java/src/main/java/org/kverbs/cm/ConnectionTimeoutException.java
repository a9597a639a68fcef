package org.kverbs.cm;

import java.io.Serial;
import java.net.InetSocketAddress;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.abi.Errno;

/** A step that got no answer in time: from the network, or within the time that the caller gave it. */
public class ConnectionTimeoutException extends ConnectionException {
    @Serial private static final long serialVersionUID = 1L;

    /**
     * For whoever waited in vain for the event that ends a step.
     *
     * @param step which
     * @param address the peer's or the group's; null if it isn't known
     * @param timeout how long was waited
     */
    public ConnectionTimeoutException(ConnectionStep step, @Nullable InetSocketAddress address, Duration timeout) {
        this(step, address, "no event came within " + timeout.toMillis() + " ms. "
                + ConnectionErrors.adviceOnTimeout(step));
    }

    ConnectionTimeoutException(ConnectionStep step, @Nullable InetSocketAddress address, String why) {
        super(step, address, Errno.ETIMEDOUT, why);
    }
}
