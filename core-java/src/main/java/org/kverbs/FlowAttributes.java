package org.kverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.FlowMatch;
import org.kverbs.attributes.FlowType;
import org.kverbs.internal.abi.IbvFlowAttr;
import org.kverbs.internal.abi.IbvFlowFlags;
import org.kverbs.internal.abi.IbvFlowSpecActionDrop;
import org.kverbs.internal.abi.IbvFlowSpecActionHandle;
import org.kverbs.internal.abi.IbvFlowSpecCounterAction;
import org.kverbs.internal.abi.IbvFlowSpecType;
import org.kverbs.internal.values.Ranges;

/**
 * The parameters of a flow rule ({@code struct ibv_flow_attr} and the structures after it).
 *
 * @param type which frames the rule is for
 * @param priority 16 bits; the device asks rules of a lower number first
 * @param port the port of the device, from 1
 * @param dontTrap whether frames that match also go on to rules of other priorities ({@code
 *     IBV_FLOW_ATTR_FLAGS_DONT_TRAP})
 * @param matches what the rule asks of the headers; empty if it takes any frame
 * @param drops whether the device drops the frames that match ({@code IBV_FLOW_SPEC_ACTION_DROP})
 * @param counters the counters of the rule, or null for none ({@code IBV_FLOW_SPEC_ACTION_COUNT})
 * @param action what decrypts the frames that match, or null for nothing ({@code IBV_FLOW_SPEC_ACTION_HANDLE})
 */
public record FlowAttributes(
        FlowType type,
        int priority,
        int port,
        boolean dontTrap,
        List<FlowMatch> matches,
        boolean drops,
        @Nullable FlowCounters counters,
        @Nullable EspFlowAction action) {

    /** Checks that the numbers are in range, and that only a normal rule has matches or passes frames on. */
    public FlowAttributes {
        Ranges.require("priority", priority, 0, 0xffff);
        Ranges.require("port", port, 1, 0xff);
        matches = List.copyOf(matches);
        if (type != FlowType.NORMAL && (dontTrap || !matches.isEmpty())) {
            throw new IllegalArgumentException("a flow rule of type " + type + " has no "
                    + (dontTrap ? "dontTrap" : "matches " + matches) + ": only one of type NORMAL has.");
        }
    }

    /** Makes the parameters of a rule without an action. */
    public FlowAttributes(
            FlowType type,
            int priority,
            int port,
            boolean dontTrap,
            List<FlowMatch> matches,
            boolean drops,
            @Nullable FlowCounters counters) {
        this(type, priority, port, dontTrap, matches, drops, counters, null);
    }

    /** Begins the parameters of a rule of type {@link FlowType#NORMAL}, priority 0 and port 1. */
    public static FlowAttributesBuilder builder() {
        return new FlowAttributesBuilder();
    }

    /** Writes the structures one behind the other, as {@code ibv_create_flow} reads them. */
    MemorySegment write(Arena arena) {
        int size = IbvFlowAttr.SIZE
                + matches.stream().mapToInt(each -> each.toBytes().length).sum()
                + (action == null ? 0 : IbvFlowSpecActionHandle.SIZE)
                + (drops ? IbvFlowSpecActionDrop.SIZE : 0)
                + (counters == null ? 0 : IbvFlowSpecCounterAction.SIZE);
        MemorySegment flow = arena.allocate(size, Long.BYTES);
        flow.set(ValueLayout.JAVA_INT, IbvFlowAttr.TYPE, type.code());
        flow.set(ValueLayout.JAVA_SHORT, IbvFlowAttr.SIZE_FIELD, (short) size);
        flow.set(ValueLayout.JAVA_SHORT, IbvFlowAttr.PRIORITY, (short) priority);
        flow.set(ValueLayout.JAVA_BYTE, IbvFlowAttr.NUM_OF_SPECS, (byte) specifications());
        flow.set(ValueLayout.JAVA_BYTE, IbvFlowAttr.PORT, (byte) port);
        flow.set(ValueLayout.JAVA_INT, IbvFlowAttr.FLAGS, dontTrap ? IbvFlowFlags.IBV_FLOW_ATTR_FLAGS_DONT_TRAP : 0);
        long at = IbvFlowAttr.SIZE;
        for (FlowMatch match : matches) {
            byte[] bytes = match.toBytes();
            MemorySegment.copy(bytes, 0, flow, ValueLayout.JAVA_BYTE, at, bytes.length);
            at += bytes.length;
        }
        if (action != null) {
            writeHeader(flow, at, IbvFlowSpecType.IBV_FLOW_SPEC_ACTION_HANDLE, IbvFlowSpecActionHandle.SIZE);
            flow.set(ValueLayout.JAVA_LONG_UNALIGNED, at + IbvFlowSpecActionHandle.ACTION, action.handle());
            at += IbvFlowSpecActionHandle.SIZE;
        }
        if (drops) {
            writeHeader(flow, at, IbvFlowSpecType.IBV_FLOW_SPEC_ACTION_DROP, IbvFlowSpecActionDrop.SIZE);
            at += IbvFlowSpecActionDrop.SIZE;
        }
        if (counters != null) {
            writeHeader(flow, at, IbvFlowSpecType.IBV_FLOW_SPEC_ACTION_COUNT, IbvFlowSpecCounterAction.SIZE);
            flow.set(ValueLayout.JAVA_LONG_UNALIGNED, at + IbvFlowSpecCounterAction.COUNTERS, counters.handle());
        }
        return flow;
    }

    private int specifications() {
        return matches.size() + (action == null ? 0 : 1) + (drops ? 1 : 0) + (counters == null ? 0 : 1);
    }

    private static void writeHeader(MemorySegment flow, long at, int type, int size) {
        flow.set(ValueLayout.JAVA_INT_UNALIGNED, at + IbvFlowSpecActionDrop.TYPE, type);
        flow.set(ValueLayout.JAVA_SHORT_UNALIGNED, at + IbvFlowSpecActionDrop.SIZE_FIELD, (short) size);
    }

    /** Returns the type, the priority and the matches. */
    @Override
    public String toString() {
        return type + ", priority=" + priority + ", port=" + port
                + (dontTrap ? ", dontTrap" : "")
                + (matches.isEmpty() ? "" : ", " + matches)
                + (action == null ? "" : ", esp(" + action.attributes() + ")")
                + (drops ? ", drop" : "")
                + (counters == null ? "" : ", counted");
    }
}
