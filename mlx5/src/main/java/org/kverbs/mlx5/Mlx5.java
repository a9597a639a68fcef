package org.kverbs.mlx5;

import org.kverbs.Context;
import org.kverbs.UnsupportedVerbException;
import org.kverbs.mlx5.internal.Libmlx5;

/** Opens the door to the driver mlx5. */
public final class Mlx5 {
    private Mlx5() {}

    /**
     * Returns the calls of mlx5 for an open device ({@code mlx5dv_is_supported}). They need no closing: what they make
     * belongs to the context. The library is loaded at the first call; the system property {@code kverbs.libmlx5} names
     * another file than {@code libmlx5.so.1}.
     *
     * @throws UnsupportedVerbException if the device has another driver, as an embedded device has, or if the library
     *     is not there; the message says which
     * @throws IllegalStateException if the context is closed
     */
    public static Mlx5Device of(Context context) {
        return new Mlx5Device(context, Libmlx5.of(context));
    }

    /** Returns whether {@link #of} succeeds: the device has the driver mlx5, and the library is there. */
    public static boolean isSupported(Context context) {
        try {
            of(context);
            return true;
        } catch (UnsupportedVerbException e) {
            return false;
        }
    }
}
