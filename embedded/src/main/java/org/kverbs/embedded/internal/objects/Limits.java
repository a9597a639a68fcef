package org.kverbs.embedded.internal.objects;

/** What every device has, whatever its {@link org.kverbs.embedded.DeviceLimits}. */
public final class Limits {

    /** The one port. */
    public static final int PORT = 1;
    public static final int VECTORS = 1;
    public static final int GROUPS = 1 << 13;

    private Limits() {}
}
