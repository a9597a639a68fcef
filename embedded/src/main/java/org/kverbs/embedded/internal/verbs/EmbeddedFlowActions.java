package org.kverbs.embedded.internal.verbs;

import java.lang.foreign.MemorySegment;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.Operation;
import org.kverbs.embedded.internal.objects.Handles;
import org.kverbs.embedded.internal.objects.Structures;
import org.kverbs.embedded.internal.transport.EspAction;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvFlowAction;
import org.kverbs.spi.FlowActionVerbs;

/** The actions of flow rules of an open context; takes the engine's lock for each call. */
final class EmbeddedFlowActions implements FlowActionVerbs {

    private final Hca hca;
    private final Handles<EspAction> actions;

    EmbeddedFlowActions(Hca hca, Structures structures) {
        this.hca = hca;
        // struct ibv_flow_action has no field for a driver
        this.actions = new Handles<>(
                structures, IbvFlowAction.SIZE + Long.BYTES, IbvFlowAction.SIZE, hca.quotas.flowActions);
    }

    /** Returns the action at an address, or null; the caller has the lock. */
    @Nullable EspAction action(long address) {
        return actions.get(address);
    }

    private long locked(Operation operation, LongSupplier call) {
        hca.engine.enter();
        try {
            int refusal = hca.refuse(operation);
            return refusal < 0 ? refusal : call.getAsLong();
        } finally {
            hca.engine.leave();
        }
    }

    @Override
    public long createEsp(MemorySegment attributes) {
        return locked(Operation.CREATE_FLOW_ACTION, () -> {
            if (!hca.link.carriesFrames()) {
                return -Errno.EOPNOTSUPP;
            }
            var reader = new EspReader();
            int result = reader.read(attributes.address());
            return result < 0 ? result : actions.add(at -> new EspAction(reader.association()));
        });
    }

    @Override
    public int modifyEsp(long address, MemorySegment attributes) {
        return (int) locked(Operation.MODIFY_FLOW_ACTION, () -> {
            EspAction found = actions.get(address);
            var reader = new EspReader();
            int result = found == null ? -Errno.EINVAL : reader.read(attributes.address());
            if (found != null && result == 0) {
                found.modify(reader.association());
            }
            return result;
        });
    }

    @Override
    public int destroy(long address) {
        return (int) locked(Operation.DESTROY_FLOW_ACTION, () -> {
            EspAction found = actions.get(address);
            if (found == null || found.users > 0) {
                return found == null ? -Errno.EINVAL : -Errno.EBUSY;
            }
            actions.remove(address);
            return 0;
        });
    }
}
