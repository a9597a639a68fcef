package org.kverbs.cm;

import java.io.Serial;
import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;
import org.kverbs.RdmaException;
import org.kverbs.RdmaSystemException;

/**
 * Reports a step of connecting that failed or did not end in time. The message names the step, the address, the reason
 * and what to do.
 *
 * <p>A call that is wrong, too early or too late is reported by an {@link RdmaSystemException}.
 */
public class ConnectionException extends RdmaException {
    @Serial private static final long serialVersionUID = 1L;

    private final ConnectionStep step;
    private final @Nullable InetSocketAddress address;
    private final int errno;

    /**
     * Describes a failed step.
     *
     * @param step the step that failed
     * @param address the address of the peer or of the group; null if it is not known
     * @param errno the reason as in {@code errno.h} of Linux; 0 if the reason is no errno
     * @param why the rest of the message: sentences with the reason and what to do
     */
    public ConnectionException(ConnectionStep step, @Nullable InetSocketAddress address, int errno, String why) {
        super(ConnectionErrors.phrase(step, address) + " failed: " + why);
        this.step = step;
        this.address = address;
        this.errno = errno;
    }

    /** Returns the step that failed. */
    public ConnectionStep step() {
        return step;
    }

    /** Returns the address of the peer or of the group; null if it is not known. */
    public @Nullable InetSocketAddress address() {
        return address;
    }

    /** Returns the reason as in {@code errno.h} of Linux; 0 if the reason is no errno. */
    public int errno() {
        return errno;
    }
}
