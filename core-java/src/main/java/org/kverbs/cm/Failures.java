package org.kverbs.cm;

import org.kverbs.RdmaSystemException;
import org.kverbs.internal.ErrorAdvice;

/** Turns an errno of librdmacm into an exception that says what to do. */
final class Failures {
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
