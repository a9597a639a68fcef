package org.kverbs.mlx5;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvQpCreateSendOpsFlags;
import org.kverbs.internal.abi.IbvQpInitAttrEx;
import org.kverbs.internal.abi.IbvQpInitAttrMask;
import org.kverbs.internal.memory.Memory;
import org.kverbs.mlx5.internal.Libmlx5;
import org.kverbs.mlx5.internal.abi.Mlx5dvDcType;
import org.kverbs.mlx5.internal.abi.Mlx5dvQpEx;
import org.kverbs.mlx5.internal.abi.Mlx5dvQpInitAttr;
import org.kverbs.mlx5.internal.abi.Mlx5dvQpInitAttrMask;
import org.kverbs.spi.DriverQueuePairs;
import org.kverbs.spi.QueuePairOps;
import org.kverbs.spi.VerbsContext;

/** Makes DC initiators and DC targets ({@code man 3 mlx5dv_create_qp}). */
final class DcQueuePairs implements DriverQueuePairs {

    /** What a DC initiator is made for. mlx5 has further operations for it, on memory windows, which go to no peer. */
    private static final long OPERATIONS = IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_SEND
            | IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_SEND_WITH_IMM
            | IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_SEND_WITH_INV
            | IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_RDMA_WRITE
            | IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM
            | IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_RDMA_READ
            | IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP
            | IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;

    private final Libmlx5 library;
    private final boolean isTarget;
    private final long accessKey;

    private DcQueuePairs(Libmlx5 library, boolean isTarget, long accessKey) {
        this.library = library;
        this.isTarget = isTarget;
        this.accessKey = accessKey;
    }

    static DcQueuePairs initiators(Libmlx5 library) {
        return new DcQueuePairs(library, false, 0);
    }

    static DcQueuePairs targets(Libmlx5 library, long accessKey) {
        return new DcQueuePairs(library, true, accessKey);
    }

    @Override
    public String function() {
        return "mlx5dv_create_qp";
    }

    @Override
    public String needs() {
        return "The driver mlx5 has DC targets since rdma-core 16 and DC initiators that kverbs can post to since"
                + " rdma-core 24, on devices with DC.";
    }

    @Override
    public long create(VerbsContext verbs, MemorySegment initAttributes) {
        if (!isTarget && !library.hasExtendedPosts()) {
            return -Errno.ENOSYS;
        }
        initAttributes.set(JAVA_INT, IbvQpInitAttrEx.CAP_MAX_RECV_WR, 0); // the kernel refuses a receive queue
        initAttributes.set(JAVA_INT, IbvQpInitAttrEx.CAP_MAX_RECV_SGE, 0);
        if (isTarget) {
            initAttributes.set(JAVA_INT, IbvQpInitAttrEx.CAP_MAX_SEND_WR, 0);
            initAttributes.set(JAVA_INT, IbvQpInitAttrEx.CAP_MAX_SEND_SGE, 0);
            initAttributes.set(JAVA_INT, IbvQpInitAttrEx.CAP_MAX_INLINE_DATA, 0);
        }
        int mask = IbvQpInitAttrMask.IBV_QP_INIT_ATTR_PD
                | (isTarget ? 0 : IbvQpInitAttrMask.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
        initAttributes.set(JAVA_INT, IbvQpInitAttrEx.COMP_MASK, mask);
        initAttributes.set(JAVA_LONG, IbvQpInitAttrEx.SEND_OPS_FLAGS, isTarget ? 0 : OPERATIONS);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment init = arena.allocate(Mlx5dvQpInitAttr.SIZE, JAVA_LONG.byteAlignment());
            init.set(JAVA_LONG, Mlx5dvQpInitAttr.COMP_MASK, Mlx5dvQpInitAttrMask.MLX5DV_QP_INIT_ATTR_MASK_DC);
            init.set(JAVA_INT, Mlx5dvQpInitAttr.DC_INIT_ATTR_DC_TYPE,
                    isTarget ? Mlx5dvDcType.MLX5DV_DCTYPE_DCT : Mlx5dvDcType.MLX5DV_DCTYPE_DCI);
            init.set(JAVA_LONG, Mlx5dvQpInitAttr.DC_INIT_ATTR_DCT_ACCESS_KEY, accessKey);
            return library.createQp(verbs.nativeAddress(), initAttributes, init);
        }
    }

    @Override
    public QueuePairOps ops(VerbsContext verbs, long qp, int maxSendSge, int maxInlineData) {
        if (isTarget) {
            return new Silent();
        }
        long extended = library.qpExFromIbvQpEx(qp);
        long setAddress = Memory.getLong(extended + Mlx5dvQpEx.WR_SET_DC_ADDR);
        return verbs.driver().queuePairOps(qp, maxSendSge, maxInlineData, extended, setAddress);
    }

    /** The data path of a target, which sends nothing and receives by its shared receive queue. */
    private static final class Silent implements QueuePairOps {
        @Override
        public int postSend(long workRequests, long badWorkRequest) {
            Memory.putLong(badWorkRequest, workRequests);
            return -Errno.EOPNOTSUPP;
        }

        @Override
        public int postReceive(long workRequests, long badWorkRequest) {
            Memory.putLong(badWorkRequest, workRequests);
            return -Errno.EINVAL;
        }
    }
}
