package org.kverbs.cm;

import org.kverbs.RdmaSystemException;
import org.kverbs.UnsupportedVerbException;
import org.kverbs.internal.ErrorAdvice;
import org.kverbs.internal.Refusal;
import org.kverbs.internal.abi.Errno;

/** Turns an errno of librdmacm into an exception that says what to do. */
final class Failures {

    /** What has the calls for events of the program and for look-ups by an id. */
    static final String SINCE_60 = "librdmacm has it since rdma-core 60, with a kernel that knows the command, and so "
            + "has the embedded device.";

    private Failures() {}

    /**
     * The exception for a call that failed.
     *
     * @param operation the C function, with the arguments that matter in parentheses: {@code
     *     rdma_listen(10.0.0.1:7471)}
     * @param errno its error number, as it is or negated
     */
    static RdmaSystemException of(String operation, int errno) {
        int positive = Math.abs(errno);
        return new RdmaSystemException(operation, positive, ErrorAdvice.on(operation, positive));
    }

    /**
     * The exception for a call that not every release or provider has.
     *
     * @param id the id of the call
     * @param errno its error number, as it is or negated; ENOSYS or EOPNOTSUPP if the call is missing
     * @param needs whole sentences that say what has the call
     */
    static RdmaSystemException optional(ConnectionId id, String operation, int errno, String needs) {
        int positive = Math.abs(errno);
        if (positive != Errno.ENOSYS && positive != Errno.EOPNOTSUPP) {
            return of(operation, positive);
        }
        Refusal.forget();
        String device = id.deviceName();
        return new UnsupportedVerbException(
                device == null ? "provider " + id.channel().provider() : device, operation, positive, needs);
    }

    /**
     * Refuses a result below zero.
     *
     * @throws RdmaSystemException if the result is below zero
     */
    static void check(String operation, int result) {
        if (result < 0) {
            throw of(operation, result);
        }
    }
}
