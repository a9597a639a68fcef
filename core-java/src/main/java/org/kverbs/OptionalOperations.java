package org.kverbs;

import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.Feature;
import org.kverbs.internal.PlacementExtensions;
import org.kverbs.internal.WorkRequestArena;
import org.kverbs.internal.abi.IbvQpCreateSendOpsFlags;
import org.kverbs.internal.abi.IbvSendWr;
import org.kverbs.internal.abi.IbvWrOpcode;
import org.kverbs.internal.memory.Memory;

/**
 * The operations that a queue pair has only if it was made for them, as bits of {@code enum
 * ibv_qp_create_send_ops_flags}. A driver that was not asked for an operation can have no function for it.
 */
final class OptionalOperations {

    private OptionalOperations() {}

    /**
     * Returns the bits of features.
     *
     * @throws IllegalArgumentException for a feature that is not an operation of a queue pair
     */
    static int of(Set<Feature> features) {
        int operations = 0;
        for (Feature feature : features) {
            operations |= switch (feature) {
                case ATOMIC_WRITE -> IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_ATOMIC_WRITE;
                case FLUSH -> PlacementExtensions.IBV_QP_EX_WITH_FLUSH;
                default -> throw new IllegalArgumentException(
                        feature + " is not an operation of an extended queue pair: ATOMIC_WRITE and FLUSH are"
                                + (feature == Feature.SEGMENTATION ? "; say maxTsoHeader(bytes) instead" : ""));
            };
        }
        return operations;
    }

    /** Returns the bits of all operations that a queue pair was made for. */
    static int of(QueuePairInitAttributes attributes) {
        return of(attributes.features())
                | (attributes.maxTsoHeader() > 0 ? IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_TSO : 0);
    }

    private static int bit(Feature feature) {
        return feature == Feature.SEGMENTATION
                ? IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_TSO : of(Set.of(feature));
    }

    /** Returns the feature that a request needs, or null. */
    static @Nullable Feature neededBy(WorkRequestArena requests, int index) {
        return switch (Memory.getInt(requests.at(index) + IbvSendWr.OPCODE)) {
            case IbvWrOpcode.IBV_WR_ATOMIC_WRITE -> Feature.ATOMIC_WRITE;
            case PlacementExtensions.IBV_WR_FLUSH -> Feature.FLUSH;
            case IbvWrOpcode.IBV_WR_TSO -> Feature.SEGMENTATION;
            default -> null;
        };
    }

    /** Returns the index of the first request whose operation is not among {@code operations}; there must be one. */
    static int firstBeyond(WorkRequestArena requests, int operations) {
        int index = 0;
        for (Feature needed = neededBy(requests, index);
                needed == null || (bit(needed) & ~operations) == 0;
                needed = neededBy(requests, index)) {
            index++;
        }
        return index;
    }
}
