package org.kverbs.cm;

import java.io.Serial;
import java.net.InetSocketAddress;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.abi.Errno;

/** Reports a step without an answer in time: the network did not answer, or the timeout of the caller passed. */
public class ConnectionTimeoutException extends ConnectionException {
    @Serial private static final long serialVersionUID = 1L;

    /**
     * Describes a step whose last event did not come within the caller's timeout.
     *
     * @param step the step that did not end
     * @param address the address of the peer or of the group; null if it is not known
     * @param timeout how long the caller waited
     */
    public ConnectionTimeoutException(ConnectionStep step, @Nullable InetSocketAddress address, Duration timeout) {
        this(step, address, "no event came within " + timeout.toMillis() + " ms. "
                + ConnectionErrors.adviceOnTimeout(step));
    }

    ConnectionTimeoutException(ConnectionStep step, @Nullable InetSocketAddress address, String why) {
        super(step, address, Errno.ETIMEDOUT, why);
    }
}
