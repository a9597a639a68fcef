package org.kverbs;

import java.io.Serial;

/**
 * The root of everything that kverbs throws because of a device, a library or the operating system.
 *
 * <p>Unchecked, so that lambdas and coroutines may pass it on. Misuse by the caller is not in this tree: a bad argument
 * is an {@link IllegalArgumentException}, use after close an {@link IllegalStateException}. Messages say what failed,
 * on which values, and what to do next; they are for people, and may change. Programs look at the type and at its
 * accessors.
 */
public class RdmaException extends RuntimeException {
    @Serial private static final long serialVersionUID = 1L;

    /** An exception with the whole answer in its message. */
    public RdmaException(String message) {
        super(message);
    }

    /** As {@link #RdmaException(String)}, with what caused it. */
    public RdmaException(String message, Throwable cause) {
        super(message, cause);
    }
}
