package org.kverbs.efa;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import org.kverbs.AddressHandle;
import org.kverbs.CompletionQueue;
import org.kverbs.CompletionQueueAttributes;
import org.kverbs.Context;
import org.kverbs.ProtectionDomain;
import org.kverbs.QueuePair;
import org.kverbs.QueuePairInitAttributes;
import org.kverbs.RdmaSystemException;
import org.kverbs.SendRequests;
import org.kverbs.UnsupportedVerbException;
import org.kverbs.attributes.ConnectOptions;
import org.kverbs.attributes.QueuePairAttributes;
import org.kverbs.attributes.QueuePairState;
import org.kverbs.efa.internal.Libefa;
import org.kverbs.efa.internal.abi.EfadvAhAttr;
import org.kverbs.efa.internal.abi.EfadvDeviceAttr;
import org.kverbs.internal.ErrorAdvice;
import org.kverbs.internal.abi.Errno;

/**
 * The calls of the driver efa for one open device: {@link Efa#of}. Safe for any thread.
 *
 * <p>A queue pair of <b>SRD</b>, scalable reliable datagrams, sends to any number of peers: each request names its peer
 * by an address handle, the number of the peer's queue pair and its Q_Key ({@link SendRequests#to(AddressHandle, int,
 * int)}). A message arrives once and whole, or its completion says why not; messages arrive in any order, and each has
 * room in one packet. Reads and writes are larger, where the device has them: {@link EfaAttributes#hasRead}.
 */
public final class EfaDevice {

    private final Context context;
    private final Libefa library;

    EfaDevice(Context context, Libefa library) {
        this.context = context;
        this.library = library;
    }

    /** Returns the open device that these calls are for. */
    public Context context() {
        return context;
    }

    /**
     * Queries what the device has beyond the verbs ({@code efadv_query_device}).
     *
     * @throws RdmaSystemException if the driver refuses
     */
    public EfaAttributes query() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment answer = arena.allocate(EfadvDeviceAttr.SIZE, JAVA_LONG.byteAlignment());
            int result = context.callNative(
                    pointer -> library.queryDevice(pointer.address(), answer, EfadvDeviceAttr.SIZE));
            String operation = Libefa.QUERY_DEVICE + "(" + context.device().name() + ")";
            require(operation, result);
            return EfaAttributes.read(answer);
        }
    }

    private void require(String operation, int result) {
        if (result == -Errno.EOPNOTSUPP || result == -Errno.ENOSYS) {
            throw Libefa.otherDriver(context.device().name(), operation);
        }
        if (result < 0) {
            throw new RdmaSystemException(operation, -result, ErrorAdvice.on(operation, -result));
        }
    }

    /**
     * Makes an SRD queue pair in state RESET ({@code efadv_create_qp_ex}). {@link
     * #activate} brings it up. It has sends with and without immediate, and the reads and writes that the device has.
     *
     * @param attributes of type DRIVER, without a shared receive queue: {@code QueuePairInitAttributes.of(DRIVER, cq)}
     * @throws IllegalArgumentException for other attributes, or if a queue belongs to another context
     * @throws UnsupportedVerbException if the library or the driver lacks SRD
     * @throws RdmaSystemException if the device refuses; the message names an exceeded limit
     */
    public QueuePair srdQueuePair(ProtectionDomain pd, QueuePairInitAttributes attributes) {
        if (attributes.srq() != null) {
            throw new IllegalArgumentException("efa has no shared receive queues: leave it out");
        }
        if (pd.context() != context) {
            throw new IllegalArgumentException(pd.describe() + " belongs to another open device than "
                    + context.describe() + "; make it from the same context");
        }
        return pd.queuePair(attributes.asExtended(), new SrdQueuePairs(library, query()));
    }

    /**
     * Brings an SRD queue pair from RESET to RTS ({@code ibv_modify_qp}).
     *
     * @param options its port, P_Key index and Q_Key, which messages to it must carry; and how often a message is sent
     *     again to a peer without a receive, if {@link EfaAttributes#hasRnrRetry}. The rest counts for nothing
     * @throws RdmaSystemException if the device refuses a step
     */
    public void activate(QueuePair srd, ConnectOptions options) {
        srd.modify(QueuePairAttributes.builder()
                .state(QueuePairState.INIT)
                .port(options.port())
                .pkeyIndex(options.pkeyIndex())
                .qkey(options.qkey())
                .build());
        srd.modify(QueuePairAttributes.builder().state(QueuePairState.RTR).build());
        var sending = QueuePairAttributes.builder()
                .state(QueuePairState.RTS)
                .sqPsn(ThreadLocalRandom.current().nextInt(1 << 24));
        if (query().hasRnrRetry()) {
            sending.rnrRetry(options.rnrRetry());
        }
        srd.modify(sending.build());
    }

    /**
     * Makes a completion queue whose completions have fields of efa ({@code efadv_create_cq}). Polling is the same.
     *
     * @throws IllegalArgumentException if the channel belongs to another context
     * @throws UnsupportedVerbException if the library lacks the call, or the device a field
     * @throws RdmaSystemException if the device refuses; the message names an exceeded limit
     */
    public CompletionQueue completionQueue(CompletionQueueAttributes attributes, EfaCompletionField... fields) {
        return context.completionQueue(attributes, new EfaQueues(library, Set.copyOf(List.of(fields))));
    }

    /**
     * Queries the number that the device gave an address handle, 16 bits ({@code efadv_query_ah}). The completion of a
     * receive names its sender by the same number in its place of the LID: {@code WorkCompletion.sourceLid}.
     *
     * @throws IllegalArgumentException if the address handle belongs to another context
     * @throws RdmaSystemException if the driver refuses
     */
    public int addressHandleNumber(AddressHandle handle) {
        if (handle.protectionDomain().context() != context) {
            throw new IllegalArgumentException(handle.describe() + " belongs to another open device than "
                    + context.describe());
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment answer = arena.allocate(EfadvAhAttr.SIZE, JAVA_LONG.byteAlignment());
            int result = handle.callNative(pointer -> library.queryAh(pointer.address(), answer));
            require("efadv_query_ah(" + handle.describe() + ")", result);
            return Short.toUnsignedInt(answer.get(JAVA_SHORT, EfadvAhAttr.AHN));
        }
    }
}
