package org.kverbs;

import java.io.Serial;

/**
 * Reports a call that the device, its driver or the installed libibverbs does not have. The message names the device,
 * the verb, and what has it.
 */
public class UnsupportedVerbException extends RdmaSystemException {
    @Serial private static final long serialVersionUID = 1L;

    private final String device;

    /**
     * Describes the call.
     *
     * @param device the name of the device
     * @param operation the C function, with the relevant arguments in parentheses
     * @param errno the error number, positive: EOPNOTSUPP or ENOSYS
     * @param needs whole sentences that say which devices and which release of rdma-core have the verb
     */
    public UnsupportedVerbException(String device, String operation, int errno, String needs) {
        super(operation, errno, device + " does not have this verb. " + needs);
        this.device = device;
    }

    /** Returns the name of the device that does not have the verb. */
    public String device() {
        return device;
    }
}
