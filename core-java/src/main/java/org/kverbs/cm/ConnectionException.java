package org.kverbs.cm;

import java.io.Serial;
import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;
import org.kverbs.RdmaException;
import org.kverbs.RdmaSystemException;

/**
 * A step on the way to a connection that failed, as its event says, or one that did not end in time. Says which step,
 * to which address, why, and what to do.
 *
 * <p>A call that is wrong, too early or too late is an {@link RdmaSystemException}.
 */
public class ConnectionException extends RdmaException {
    @Serial private static final long serialVersionUID = 1L;

    private final ConnectionStep step;
    private final @Nullable InetSocketAddress address;
    private final int errno;

    /**
     * Describes a failed step.
     *
     * @param step which
     * @param address the peer's or the group's; null if it isn't known
     * @param errno why, as in Linux' {@code errno.h}; 0 if the reason is no errno
     * @param why the rest of the message: the reason, and what to do, as sentences
     */
    public ConnectionException(ConnectionStep step, @Nullable InetSocketAddress address, int errno, String why) {
        super(ConnectionErrors.phrase(step, address) + " failed: " + why);
        this.step = step;
        this.address = address;
        this.errno = errno;
    }

    /** Which step failed. */
    public ConnectionStep step() {
        return step;
    }

    /** The address of the peer or of the group; null if it isn't known. */
    public @Nullable InetSocketAddress address() {
        return address;
    }

    /** The reason as in Linux' {@code errno.h}; 0 if it is none of those. */
    public int errno() {
        return errno;
    }
}
