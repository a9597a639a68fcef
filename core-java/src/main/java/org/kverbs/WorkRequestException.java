package org.kverbs;

import java.io.Serial;

/**
 * A list of work requests of which the device refused one when it was posted.
 *
 * <p>Requests before {@link #index()} are posted and will complete; that one and those after it are not, and may be
 * posted again. {@code ENOMEM} says that the queue is full, {@code EINVAL} that the request or the state of the queue
 * pair is wrong (ibv_post_send(3), ibv_post_recv(3)). A request that was accepted and fails later is a
 * {@link WorkCompletionException}.
 */
public class WorkRequestException extends RdmaSystemException {
    @Serial private static final long serialVersionUID = 1L;

    private final int index;
    private final int count;

    /**
     * Describes a refused work request.
     *
     * @param operation the C function, with the arguments that matter, if any, in parentheses: {@code ibv_post_send}
     * @param errno the error number, positive
     * @param advice whole sentences that say what to do about it, or an empty text
     * @param index the position of the refused request in the list, from 0
     * @param count how many requests the list had
     */
    public WorkRequestException(String operation, int errno, String advice, int index, int count) {
        super(withIndex(operation, index, count), errno, advice);
        this.index = index;
        this.count = count;
    }

    /** The position of the refused request in the list, from 0: so many requests were posted. */
    public int index() {
        return index;
    }

    /** How many requests the list had. */
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
