package org.kverbs.embedded.internal.objects;

import org.kverbs.embedded.Operation;

/** Decides which calls and work requests fail because a test injected a failure; called with the lock held. */
public interface Failures {

    /** Returns 0, or -errno if a call is refused, and notes the reason. */
    int refuse(DeviceState device, Operation operation);

    /** Returns 0, or the status with which a work request fails. {@code opcode} is of {@code enum ibv_wc_opcode}. */
    int status(DeviceState device, int opcode);
}
