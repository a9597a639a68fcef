package org.kverbs.embedded;

import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.kverbs.WorkCompletionOpcode;
import org.kverbs.WorkCompletionStatus;

/**
 * A failure that a test asks an embedded device for, by {@link EmbeddedFabric#inject}: a call that is refused with an
 * errno, or a work request that completes with a status. Immutable: it happens once, the next time, unless {@link
 * #nth} and {@link #times} say otherwise.
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

    /** A call that is refused, and has no effect. */
    public static Failure of(Operation operation, Errno errno) {
        return new Failure(Objects.requireNonNull(operation, "operation"), null, errno.code(), errno.name(), 1, 1);
    }

    /**
     * A work request that completes with a status, signaled or not, and takes its queue pair to the error state as on
     * a card. Requests to send are not carried out, and the peer hears nothing of them. A receive fails when its
     * message comes: the peer's request completes with REM_OP_ERR.
     *
     * @param opcode as the completion says it; {@link WorkCompletionOpcode#RECV} and {@link
     *     WorkCompletionOpcode#RECV_RDMA_WITH_IMM} are receives
     * @throws IllegalArgumentException if the status is SUCCESS
     */
    public static Failure of(WorkCompletionOpcode opcode, WorkCompletionStatus status) {
        if (status == WorkCompletionStatus.SUCCESS) {
            throw new IllegalArgumentException("SUCCESS is no failure");
        }
        return new Failure(null, Objects.requireNonNull(opcode, "opcode"), status.code(), status.name(), 1, 1);
    }

    /**
     * The same, but the first that fails is the n-th call or request from its injection on.
     *
     * @param number from 1
     * @throws IllegalArgumentException if it is below 1
     */
    public Failure nth(int number) {
        return new Failure(operation, opcode, code, result, atLeastOne("nth", number), count);
    }

    /**
     * The same, but so many in a row fail.
     *
     * @param calls from 1; {@link Integer#MAX_VALUE} for all
     * @throws IllegalArgumentException if it is below 1
     */
    public Failure times(int calls) {
        return new Failure(operation, opcode, code, result, first, atLeastOne("times", calls));
    }

    private static int atLeastOne(String name, int value) {
        if (value < 1) {
            throw new IllegalArgumentException(name + "(" + value + "): from 1");
        }
        return value;
    }

    /** The call that is refused; null if a work request fails. */
    public @Nullable Operation operation() {
        return operation;
    }

    /** The opcode of the work request that fails; null if a call is refused. */
    public @Nullable WorkCompletionOpcode opcode() {
        return opcode;
    }

    /** The errno or status, as the C API has it. */
    public int code() {
        return code;
    }

    /** Which call or request is the first that fails, from 1. */
    public int first() {
        return first;
    }

    /** How many in a row fail. */
    public int count() {
        return count;
    }

    /** {@code POST_SEND with ENOMEM, from number 3 on, 2 times}. */
    @Override
    public String toString() {
        Object what = operation == null ? opcode : operation;
        String from = first == 1 ? "" : ", from number " + first + " on";
        String many = count == 1 ? "" : count == Integer.MAX_VALUE ? ", always" : ", " + count + " times";
        return what + " with " + result + from + many;
    }
}
