package org.kverbs.spi;

import org.jspecify.annotations.Nullable;

/**
 * The result of opening a device.
 *
 * @param context the open device, or null if the device refused
 * @param errno 0, or the reason of the refusal
 */
public record VerbsOpenResult(@Nullable VerbsContext context, int errno) {

    /** Returns the result of a success. */
    public static VerbsOpenResult of(VerbsContext context) {
        return new VerbsOpenResult(context, 0);
    }

    /** Returns the result of a refusal with its errno, a positive number. */
    public static VerbsOpenResult refused(int errno) {
        return new VerbsOpenResult(null, errno);
    }
}
