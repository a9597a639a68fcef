package org.kverbs.efa;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.kverbs.efa.internal.Libefa;
import org.kverbs.efa.internal.abi.EfadvQpDriverType;
import org.kverbs.efa.internal.abi.EfadvQpInitAttr;
import org.kverbs.internal.abi.IbvQpCreateSendOpsFlags;
import org.kverbs.internal.abi.IbvQpInitAttrEx;
import org.kverbs.internal.abi.IbvQpInitAttrMask;
import org.kverbs.spi.DriverQueuePairs;
import org.kverbs.spi.QueuePairOps;
import org.kverbs.spi.VerbsContext;

/** Makes SRD queue pairs ({@code man 3 efadv_create_qp_ex}). */
record SrdQueuePairs(Libefa library, EfaAttributes device) implements DriverQueuePairs {

    private static final int SENDS =
            IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_SEND | IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_SEND_WITH_IMM;
    private static final int WRITES = IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_RDMA_WRITE
            | IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;

    @Override
    public String function() {
        return "efadv_create_qp_ex";
    }

    @Override
    public String needs() {
        return "The driver efa has SRD queue pairs in this way since rdma-core 26.";
    }

    private long operations() {
        return SENDS
                | (device.hasRead() ? IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_RDMA_READ : 0)
                | (device.hasWrite() ? WRITES : 0);
    }

    @Override
    public long create(VerbsContext verbs, MemorySegment initAttributes) {
        initAttributes.set(
                JAVA_INT,
                IbvQpInitAttrEx.COMP_MASK,
                IbvQpInitAttrMask.IBV_QP_INIT_ATTR_PD | IbvQpInitAttrMask.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
        initAttributes.set(JAVA_LONG, IbvQpInitAttrEx.SEND_OPS_FLAGS, operations());
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment init = arena.allocate(EfadvQpInitAttr.SIZE, JAVA_LONG.byteAlignment());
            init.set(JAVA_INT, EfadvQpInitAttr.DRIVER_QP_TYPE, EfadvQpDriverType.EFADV_QP_DRIVER_TYPE_SRD);
            return library.createQpEx(verbs.nativeAddress(), initAttributes, init);
        }
    }

    @Override
    public QueuePairOps ops(VerbsContext verbs, long qp, int maxSendSge, int maxInlineData) {
        return verbs.driver().queuePairOps(qp, maxSendSge, maxInlineData, 0, 0);
    }
}
