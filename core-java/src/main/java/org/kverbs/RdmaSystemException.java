package org.kverbs;

import java.io.Serial;
import org.kverbs.internal.ErrnoNames;

/**
 * Reports a call into libibverbs, librdmacm, libibumad or the kernel that failed with an errno.
 *
 * <p>The message has the form {@code ibv_reg_mr(length=65536) failed: ENOMEM (Cannot allocate memory). <what to do>}.
 * The error numbers are those of Linux (errno(3)).
 */
public class RdmaSystemException extends RdmaException {
    @Serial private static final long serialVersionUID = 1L;

    private final String operation;
    private final int errno;
    private final String advice;

    /**
     * Describes a failed call.
     *
     * @param operation the C function, with the relevant arguments in parentheses: {@code ibv_reg_mr(length=65536)}
     * @param errno the error number, positive
     * @param advice whole sentences that say what to do; empty if nothing is known
     */
    public RdmaSystemException(String operation, int errno, String advice) {
        super(describe(operation, errno, advice));
        int arguments = operation.indexOf('(');
        this.operation = arguments < 0 ? operation : operation.substring(0, arguments);
        this.errno = errno;
        this.advice = advice;
    }

    /** Returns the name of the C function that failed, without arguments: {@code ibv_reg_mr}. */
    public String operation() {
        return operation;
    }

    /** Returns the error number, as in {@code errno.h} of Linux. */
    public int errno() {
        return errno;
    }

    /** Returns the symbol of {@link #errno()}, such as {@code ENOMEM}, or {@code errno 4711} if it has none. */
    public String errnoName() {
        return ErrnoNames.name(errno);
    }

    /** Returns the sentences of the message that say what to do; empty if nothing is known. */
    public String advice() {
        return advice;
    }

    private static String describe(String operation, int errno, String advice) {
        String failure = operation + " failed: " + ErrnoNames.describe(errno);
        return advice.isEmpty() ? failure : failure + ". " + advice;
    }
}
