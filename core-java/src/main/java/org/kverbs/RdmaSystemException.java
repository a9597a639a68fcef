package org.kverbs;

import java.io.Serial;
import org.kverbs.internal.ErrnoNames;

/**
 * A call into libibverbs, librdmacm, libibumad or the kernel that failed with an errno.
 *
 * <p>Its message reads {@code ibv_reg_mr(length=65536) failed: ENOMEM (Cannot allocate memory). <what to do>}. The
 * numbers are those of Linux (errno(3)).
 */
public class RdmaSystemException extends RdmaException {
    @Serial private static final long serialVersionUID = 1L;

    private final String operation;
    private final int errno;
    private final String advice;

    /**
     * Describes a failed call.
     *
     * @param operation the C function, with the arguments that matter, if any, in parentheses:
     *     {@code ibv_reg_mr(length=65536)}
     * @param errno the error number, positive
     * @param advice whole sentences that say what to do about it, or an empty text if nothing is known
     */
    public RdmaSystemException(String operation, int errno, String advice) {
        super(describe(operation, errno, advice));
        int arguments = operation.indexOf('(');
        this.operation = arguments < 0 ? operation : operation.substring(0, arguments);
        this.errno = errno;
        this.advice = advice;
    }

    /** The name of the C function that failed, without arguments: {@code ibv_reg_mr}. */
    public String operation() {
        return operation;
    }

    /** The error number, as in Linux' {@code errno.h}. */
    public int errno() {
        return errno;
    }

    /** The symbol of {@link #errno()}, such as {@code ENOMEM}; {@code errno 4711} if it has none. */
    public String errnoName() {
        return ErrnoNames.name(errno);
    }

    /** What to do about it, as in the message; empty if nothing is known. */
    public String advice() {
        return advice;
    }

    private static String describe(String operation, int errno, String advice) {
        String failure = operation + " failed: " + ErrnoNames.describe(errno);
        return advice.isEmpty() ? failure : failure + ". " + advice;
    }
}
