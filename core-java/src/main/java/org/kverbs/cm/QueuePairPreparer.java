package org.kverbs.cm;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.kverbs.QueuePair;
import org.kverbs.attributes.AccessFlag;
import org.kverbs.attributes.Feature;
import org.kverbs.attributes.QueuePairAttributes;
import org.kverbs.attributes.QueuePairAttributesBuilder;
import org.kverbs.attributes.QueuePairState;
import org.kverbs.attributes.QueuePairType;
import org.kverbs.internal.Structures;
import org.kverbs.internal.abi.IbvQpAttr;

/** Moves a queue pair through its states by the attributes of a connection id. */
final class QueuePairPreparer {

    private static final int MASK_OFFSET = (IbvQpAttr.SIZE + Long.BYTES - 1) / Long.BYTES * Long.BYTES;

    private final ConnectionId id;

    QueuePairPreparer(ConnectionId id) {
        this.id = id;
    }

    QueuePairAttributes attributes(QueuePairState state) {
        return attributes(state, 0);
    }

    /** @param rights what the peer may do beside what the connection manager knows, a mask of {@link AccessFlag} */
    private QueuePairAttributes attributes(QueuePairState state, int rights) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attributes = arena.allocate(MASK_OFFSET + Integer.BYTES, JAVA_LONG.byteAlignment());
            MemorySegment mask = attributes.asSlice(MASK_OFFSET);
            attributes.set(JAVA_INT, IbvQpAttr.QP_STATE, state.code());
            id.command(
                    id.addresses().naming("rdma_init_qp_attr"),
                    () -> id.manager().initQueuePairAttributes(id.handle(), attributes, mask));
            int access = attributes.get(JAVA_INT, IbvQpAttr.QP_ACCESS_FLAGS);
            attributes.set(JAVA_INT, IbvQpAttr.QP_ACCESS_FLAGS, access | rights);
            return Structures.QUEUE_PAIR.read(attributes, mask.get(JAVA_INT, 0));
        }
    }

    /** Refuses a queue pair of another device than the id is bound to. */
    void requireSameDevice(QueuePair qp) {
        String mine = id.deviceName();
        String other = qp.protectionDomain().context().device().name();
        if (mine != null && !mine.equals(other)) {
            throw new IllegalArgumentException(
                    qp.describe() + " can't serve " + id.describe() + ", which is bound to " + mine
                    + ": make the queue pair on that device");
        }
    }

    void prepare(QueuePair qp, QueuePairState state) {
        requireSameDevice(qp);
        if (id.portSpace().isDatagram() && state != QueuePairState.INIT) {
            QueuePairAttributesBuilder next = QueuePairAttributes.builder().state(state);
            qp.modify(state == QueuePairState.RTS ? next.sqPsn(0).build() : next.build());
            return;
        }
        if (state == QueuePairState.RTR) { // the access rights of the peer are known only now
            modify(qp, QueuePairState.INIT);
        }
        modify(qp, state);
    }

    private void modify(QueuePair qp, QueuePairState state) {
        boolean flushes = qp.type() == QueuePairType.RC
                && qp.protectionDomain().context().supports(Feature.FLUSH);
        QueuePairAttributes attributes = attributes(state, flushes ? AccessFlag.FLUSH_GLOBAL.bit() : 0);
        if (attributes.mask() != 0) {
            qp.modify(attributes);
        }
    }
}
