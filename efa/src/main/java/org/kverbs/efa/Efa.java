package org.kverbs.efa;

import org.kverbs.Context;
import org.kverbs.RdmaSystemException;
import org.kverbs.UnsupportedVerbException;
import org.kverbs.efa.internal.Libefa;

/** Opens the door to the driver efa. */
public final class Efa {
    private Efa() {}

    /**
     * Returns the calls of efa for an open device. They need no closing: what they make belongs to the context. The
     * library is loaded at the first call; the system property {@code kverbs.libefa} names another file than {@code
     * libefa.so.1}.
     *
     * @throws UnsupportedVerbException if the device has another driver, as an embedded device has, or if the library
     *     is not there or older than rdma-core 26; the message says which
     * @throws RdmaSystemException if the driver does not answer {@code efadv_query_device}
     * @throws IllegalStateException if the context is closed
     */
    public static EfaDevice of(Context context) {
        var device = new EfaDevice(context, Libefa.of(context));
        device.query(); // libefa has no other call that tells whose device it is
        return device;
    }

    /** Returns whether {@link #of} succeeds: the device has the driver efa, and the library is there. */
    public static boolean isSupported(Context context) {
        try {
            of(context);
            return true;
        } catch (UnsupportedVerbException e) {
            return false;
        }
    }
}
