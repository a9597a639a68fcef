package org.kverbs.spi;

import org.jspecify.annotations.Nullable;

/**
 * What opening a device gave.
 *
 * @param context the open device, or null if it was refused
 * @param errno 0, or why it was refused
 */
public record VerbsOpenResult(@Nullable VerbsContext context, int errno) {

    /** An open device. */
    public static VerbsOpenResult of(VerbsContext context) {
        return new VerbsOpenResult(context, 0);
    }

    /** A refusal with its errno (a positive number). */
    public static VerbsOpenResult refused(int errno) {
        return new VerbsOpenResult(null, errno);
    }
}
