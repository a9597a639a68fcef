package org.kverbs.embedded;

import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.kverbs.WorkCompletionOpcode;
import org.kverbs.WorkCompletionStatus;

/**
 * Describes a failure that a test injects into embedded devices with {@link EmbeddedFabric#inject}: a call that is
 * refused with an errno, or a work request that completes with a status. Immutable. The failure happens once, at the
 * next call or request, unless {@link #nth} and {@link #times} change that.
 *
 * <pre>{@code
 * fabric.inject(Failure.of(Operation.CREATE_QUEUE_PAIR, Errno.ENOMEM));
 * fabric.inject(Failure.of(Operation.POST_SEND, Errno.ENOMEM).nth(3).times(2));
 * fabric.inject(server, Failure.of(WorkCompletionOpcode.RECV, WorkCompletionStatus.LOC_LEN_ERR));
 * }</pre>
 */
public final class Failure {

    private final @Nullable Operation operation;
    private final @Nullable WorkCompletionOpcode opcode;
    private final int code;
    private final String result;
    private final int first;
    private final int count;

    private Failure(
            @Nullable Operation operation,
            @Nullable WorkCompletionOpcode opcode,
            int code,
            String result,
            int first,
            int count) {
        this.operation = operation;
        this.opcode = opcode;
        this.code = code;
        this.result = result;
        this.first = first;
        this.count = count;
    }

    /** Makes a failure that refuses a call. The refused call has no effect. */
    public static Failure of(Operation operation, Errno errno) {
        return new Failure(Objects.requireNonNull(operation, "operation"), null, errno.code(), errno.name(), 1, 1);
    }

    /**
     * Makes a failure that completes a work request with a status, signaled or not, and moves its queue pair to the
     * error state as a card does. A failed send request is not carried out, and the peer hears nothing of it. A receive
     * fails when its message arrives, and the peer's request completes with REM_OP_ERR.
     *
     * @param opcode the opcode of the completion; {@link WorkCompletionOpcode#RECV} and {@link
     *     WorkCompletionOpcode#RECV_RDMA_WITH_IMM} are receives
     * @throws IllegalArgumentException if the status is SUCCESS
     */
    public static Failure of(WorkCompletionOpcode opcode, WorkCompletionStatus status) {
        if (status == WorkCompletionStatus.SUCCESS) {
            throw new IllegalArgumentException("the status is SUCCESS: inject a status that is an error");
        }
        return new Failure(null, Objects.requireNonNull(opcode, "opcode"), status.code(), status.name(), 1, 1);
    }

    /**
     * Returns a copy whose first failure is the n-th call or request after the injection.
     *
     * @param number from 1
     * @throws IllegalArgumentException if the number is below 1
     */
    public Failure nth(int number) {
        return new Failure(operation, opcode, code, result, atLeastOne("nth", number), count);
    }

    /**
     * Returns a copy with this number of failures in a row.
     *
     * @param calls from 1; {@link Integer#MAX_VALUE} for all
     * @throws IllegalArgumentException if the number is below 1
     */
    public Failure times(int calls) {
        return new Failure(operation, opcode, code, result, first, atLeastOne("times", calls));
    }

    private static int atLeastOne(String name, int value) {
        if (value < 1) {
            throw new IllegalArgumentException(name + "(" + value + "): give a number from 1");
        }
        return value;
    }

    /** Returns the call that is refused; null if a work request fails. */
    public @Nullable Operation operation() {
        return operation;
    }

    /** Returns the opcode of the work request that fails; null if a call is refused. */
    public @Nullable WorkCompletionOpcode opcode() {
        return opcode;
    }

    /** Returns the errno or status as a number of the C API. */
    public int code() {
        return code;
    }

    /** Returns the number of the first call or request that fails, from 1. */
    public int first() {
        return first;
    }

    /** Returns how many calls or requests in a row fail. */
    public int count() {
        return count;
    }

    /** Returns, for example, {@code POST_SEND with ENOMEM, from number 3 on, 2 times}. */
    @Override
    public String toString() {
        Object what = operation == null ? opcode : operation;
        String from = first == 1 ? "" : ", from number " + first + " on";
        String many = count == 1 ? "" : count == Integer.MAX_VALUE ? ", always" : ", " + count + " times";
        return what + " with " + result + from + many;
    }
}
