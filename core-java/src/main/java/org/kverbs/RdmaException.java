package org.kverbs;

import java.io.Serial;

/**
 * The base class of the exceptions that kverbs throws because of a device, a library or the operating system.
 *
 * <p>It is unchecked, so that lambdas and coroutines can throw it. Misuse by the caller is reported by other
 * exceptions: a bad argument by an {@link IllegalArgumentException}, a use after close by an {@link
 * IllegalStateException}. A message says what failed, with which values, and what to do. Messages are for people and
 * can change between releases; programs use the type and the accessors of an exception.
 */
public class RdmaException extends RuntimeException {
    @Serial private static final long serialVersionUID = 1L;

    /** Makes an exception whose message says what failed and what to do. */
    public RdmaException(String message) {
        super(message);
    }

    /** Makes an exception with a cause. */
    public RdmaException(String message, Throwable cause) {
        super(message, cause);
    }
}
