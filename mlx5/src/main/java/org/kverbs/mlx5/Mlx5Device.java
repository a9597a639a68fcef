package org.kverbs.mlx5;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import org.kverbs.CompletionQueue;
import org.kverbs.CompletionQueueAttributes;
import org.kverbs.Context;
import org.kverbs.ProtectionDomain;
import org.kverbs.QueuePair;
import org.kverbs.QueuePairInitAttributes;
import org.kverbs.RdmaSystemException;
import org.kverbs.SendRequests;
import org.kverbs.UnsupportedVerbException;
import org.kverbs.attributes.AccessFlag;
import org.kverbs.attributes.AddressAttributes;
import org.kverbs.attributes.ConnectOptions;
import org.kverbs.attributes.Gid;
import org.kverbs.attributes.GlobalRoute;
import org.kverbs.attributes.LinkLayer;
import org.kverbs.attributes.Mtu;
import org.kverbs.attributes.QueuePairAttributes;
import org.kverbs.attributes.QueuePairState;
import org.kverbs.attributes.QueuePairType;
import org.kverbs.internal.ErrorAdvice;
import org.kverbs.internal.abi.Errno;
import org.kverbs.mlx5.internal.Libmlx5;
import org.kverbs.mlx5.internal.abi.Mlx5dvContext;

/**
 * The calls of the driver mlx5 for one open device: {@link Mlx5#of}. Safe for any thread.
 *
 * <p><b>DC</b>, the dynamically connected transport, has two kinds of queue pairs. A target (DCT) receives from any
 * number of initiators, into its shared receive queue. An initiator (DCI) sends to any target: each request names the
 * target by an address handle, its number and its access key ({@link SendRequests#to(org.kverbs.AddressHandle, int,
 * long)}), and the device connects the two as needed. The operations are those of RC.
 */
public final class Mlx5Device {

    /** Room for a later {@code struct mlx5dv_context}. A driver fills only the parts that it is asked for. */
    private static final int ANSWER_SIZE = Mlx5dvContext.SIZE + 256;

    private static final int USUAL_READ_DEPTH = 16;

    private final Context context;
    private final Libmlx5 library;

    Mlx5Device(Context context, Libmlx5 library) {
        this.context = context;
        this.library = library;
    }

    /** Returns the open device that these calls are for. */
    public Context context() {
        return context;
    }

    /**
     * Queries what the device has beyond the verbs ({@code mlx5dv_query_device}).
     *
     * @throws RdmaSystemException if the driver refuses
     */
    public Mlx5Attributes query() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment answer = arena.allocate(ANSWER_SIZE, JAVA_LONG.byteAlignment());
            answer.set(JAVA_LONG, Mlx5dvContext.COMP_MASK, Mlx5Attributes.ASKED);
            int result = context.callNative(pointer -> library.queryDevice(pointer.address(), answer));
            if (result < 0) {
                String operation = "mlx5dv_query_device(" + context.device().name() + ")";
                throw new RdmaSystemException(operation, -result, ErrorAdvice.on(operation, -result));
            }
            return Mlx5Attributes.read(answer);
        }
    }

    /**
     * Makes a DC initiator in state RESET ({@code mlx5dv_create_qp}, {@code MLX5DV_DCTYPE_DCI}). {@link
     * #activateInitiator} brings it up. It receives nothing: the sizes of a receive queue in {@code attributes} count
     * for nothing.
     *
     * @param attributes of type DRIVER, without a shared receive queue: {@code QueuePairInitAttributes.of(DRIVER, cq)}
     * @throws IllegalArgumentException for other attributes, or if a queue belongs to another context
     * @throws UnsupportedVerbException if the device or the library has no DC
     * @throws RdmaSystemException if the device refuses; the message names an exceeded limit
     */
    public QueuePair dciQueuePair(ProtectionDomain pd, QueuePairInitAttributes attributes) {
        if (attributes.srq() != null) {
            throw new IllegalArgumentException("a DC initiator receives nothing: leave out the shared receive queue");
        }
        return requireOwn(pd).queuePair(attributes.asExtended(), DcQueuePairs.initiators(library));
    }

    /**
     * Makes a DC target in state RESET ({@code mlx5dv_create_qp}, {@code MLX5DV_DCTYPE_DCT}). {@link #activateTarget}
     * brings it up, and gives it its number. It sends nothing: a post fails with EOPNOTSUPP.
     *
     * @param attributes of type DRIVER, with a shared receive queue: {@code QueuePairInitAttributes.of(DRIVER,
     *     cq).with(srq)}; the receives complete in {@code recvCq}. The sizes count for nothing
     * @param accessKey the key that an initiator must name, 64 bits of the program's choice
     * @throws IllegalArgumentException for other attributes, or if a queue belongs to another context
     * @throws UnsupportedVerbException if the device or the library has no DC
     * @throws RdmaSystemException if the device refuses
     */
    public QueuePair dct(ProtectionDomain pd, QueuePairInitAttributes attributes, long accessKey) {
        if (attributes.srq() == null) {
            throw new IllegalArgumentException("a DC target receives by a shared receive queue: add with(srq)");
        }
        var plain = new QueuePairInitAttributes(
                attributes.type(),
                attributes.sendCq(),
                attributes.recvCq(),
                attributes.srq(),
                attributes.capabilities(),
                false);
        return requireOwn(pd).queuePair(plain, DcQueuePairs.targets(library, accessKey));
    }

    private ProtectionDomain requireOwn(ProtectionDomain pd) {
        if (pd.context() != context) {
            throw new IllegalArgumentException(pd.describe() + " belongs to another open device than "
                    + context.describe() + "; make it from the same context");
        }
        return pd;
    }

    /**
     * Brings a DC initiator from RESET to RTS ({@code ibv_modify_qp}).
     *
     * @param options its port, P_Key index, MTU, timeout, retries and number of reads in flight; the rest counts for
     *     nothing
     * @throws RdmaSystemException if the device refuses a step
     */
    public void activateInitiator(QueuePair initiator, ConnectOptions options) {
        initiator.modify(QueuePairAttributes.builder()
                .state(QueuePairState.INIT)
                .port(options.port())
                .pkeyIndex(options.pkeyIndex())
                .build());
        initiator.modify(QueuePairAttributes.builder()
                .state(QueuePairState.RTR)
                .pathMtu(mtu(options))
                .build());
        initiator.modify(QueuePairAttributes.builder()
                .state(QueuePairState.RTS)
                .timeout(options.timeout())
                .retryCount(options.retryCount())
                .rnrRetry(options.rnrRetry())
                .sqPsn(ThreadLocalRandom.current().nextInt(1 << 24))
                .maxReadAtomic(readDepth(options))
                .build());
    }

    /**
     * Brings a DC target from RESET to RTR, the state in which it receives ({@code ibv_modify_qp}). From then on {@link
     * QueuePair#number} is the number that initiators name.
     *
     * @param options its port, P_Key index, GID index, MTU, hop limit, traffic class, flow label, service level,
     *     minimum RNR timer and the rights of initiators; the rest counts for nothing
     * @throws RdmaSystemException if the device refuses a step
     */
    public void activateTarget(QueuePair target, ConnectOptions options) {
        Set<AccessFlag> rights = options.access();
        target.modify(QueuePairAttributes.builder()
                .state(QueuePairState.INIT)
                .port(options.port())
                .pkeyIndex(options.pkeyIndex())
                .accessFlags(
                        rights == null
                                ? Set.of(AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_ATOMIC)
                                : rights)
                .build());
        target.modify(QueuePairAttributes.builder()
                .state(QueuePairState.RTR)
                .pathMtu(mtu(options))
                .minRnrTimer(options.minRnrTimer())
                .address(ownPath(options))
                .build());
    }

    private int readDepth(ConnectOptions options) {
        int depth = options.maxReadAtomic();
        return depth >= 0 ? depth : Math.min(USUAL_READ_DEPTH, context.queryDevice().maxQpInitRdAtom());
    }

    private Mtu mtu(ConnectOptions options) {
        Mtu chosen = options.pathMtu();
        return chosen != null ? chosen : context.queryPort(options.port()).activeMtu();
    }

    /** Returns the address vector of a target: its own side of the path, since the initiators differ. */
    private AddressAttributes ownPath(ConnectOptions options) {
        var path = AddressAttributes.builder().port(options.port()).serviceLevel(options.serviceLevel());
        boolean isRouted = options.gidIndex() >= 0
                || context.queryPort(options.port()).linkLayer() == LinkLayer.ETHERNET;
        if (isRouted) {
            int gidIndex = options.gidIndex() >= 0 ? options.gidIndex() : context.defaultGidIndex(options.port());
            path.globalRoute(new GlobalRoute(
                    Gid.of(new byte[16]), options.flowLabel(), gidIndex, options.hopLimit(), options.trafficClass()));
        }
        return path.build();
    }

    /**
     * Makes a completion queue with options of mlx5 ({@code mlx5dv_create_cq}). It is polled as any other.
     *
     * @throws IllegalArgumentException if the channel or the parent domain belongs to another context
     * @throws UnsupportedVerbException if the library lacks the call or the driver an option
     * @throws RdmaSystemException if the device refuses, such as EINVAL for a format that it does not have
     */
    public CompletionQueue completionQueue(CompletionQueueAttributes attributes, CqeOptions options) {
        return context.completionQueue(attributes, new CompressedQueues(library, options));
    }
}
