package org.kverbs;

import java.io.Serial;

/**
 * Reports that the device refused a work request when a list of requests was posted.
 *
 * <p>The requests before {@link #index()} are posted and will complete. That request and those after it are not posted
 * and can be posted again. {@code ENOMEM} stands for a full queue, {@code EINVAL} for a wrong request or a wrong state
 * of the queue pair (ibv_post_send(3), ibv_post_recv(3)). A request that the device accepts and that fails later is
 * reported by a {@link WorkCompletionException}.
 */
public class WorkRequestException extends RdmaSystemException {
    @Serial private static final long serialVersionUID = 1L;

    private final int index;
    private final int count;

    /**
     * Describes a refused work request.
     *
     * @param operation the C function, with the relevant arguments in parentheses: {@code ibv_post_send}
     * @param errno the error number, positive
     * @param advice whole sentences that say what to do; empty if nothing is known
     * @param index the position of the refused request in the list, from 0
     * @param count how many requests the list had
     */
    public WorkRequestException(String operation, int errno, String advice, int index, int count) {
        super(withIndex(operation, index, count), errno, advice);
        this.index = index;
        this.count = count;
    }

    /**
     * Returns the index of the refused request in the list, from 0. It is also the number of requests that were posted.
     */
    public int index() {
        return index;
    }

    /** Returns the number of requests in the list. */
    public int count() {
        return count;
    }

    private static String withIndex(String operation, int index, int count) {
        String request = "work request at index " + index + " of " + count + ")";
        return operation.endsWith(")")
                ? operation.substring(0, operation.length() - 1) + ", " + request
                : operation + "(" + request;
    }
}
