package org.kverbs;

import java.io.Serial;
import org.kverbs.attributes.Feature;
import org.kverbs.internal.abi.Errno;

/**
 * Reports a call that the device, its driver or the installed libibverbs does not have, or a request that its queue
 * pair was not made for. The message names the device, the verb, and what has it.
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

    private UnsupportedVerbException(String operation, String advice, String device) {
        super(operation, Errno.EOPNOTSUPP, advice);
        this.device = device;
    }

    /** Makes the exception for a request of an operation that its queue pair was not made for. */
    static UnsupportedVerbException ofQueuePair(QueuePair queuePair, Feature feature, int index, int count) {
        String way = feature == Feature.SEGMENTATION
                ? "create a RAW_PACKET or UD queue pair by withMaxTsoHeader(bytes), in Kotlin by maxTsoHeader(bytes). "
                : "create an extended RC queue pair by asExtended(Feature." + feature + "), in Kotlin by extended("
                        + feature + "). ";
        String advice = "Request " + index + " of " + count + ", counted from 0, needs a queue pair with " + feature
                + ", and nothing was posted: " + way + feature.needs();
        return new UnsupportedVerbException(
                feature.verb() + "(" + queuePair.describe() + ")",
                advice,
                queuePair.protectionDomain().context().device().name());
    }

    /** Returns the name of the device that does not have the verb. */
    public String device() {
        return device;
    }
}
