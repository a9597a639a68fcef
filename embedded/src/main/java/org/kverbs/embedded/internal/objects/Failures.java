package org.kverbs.embedded.internal.objects;

import org.kverbs.embedded.Operation;

/** Failures that a test has asked for; with the lock. */
public interface Failures {

    /** -errno with which a call of a program is refused, with the reason noted; or 0. */
    int refuse(DeviceState device, Operation operation);

    /**
     * The status with which a work request fails, or 0 for success; by {@code enum ibv_wc_opcode} of its completion.
     */
    int status(DeviceState device, int opcode);
}
