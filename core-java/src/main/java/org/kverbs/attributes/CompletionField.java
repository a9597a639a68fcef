package org.kverbs.attributes;

import java.util.Collection;
import java.util.EnumSet;
import org.kverbs.internal.abi.IbvCreateCqWcFlags;

/**
 * A field of completions that a completion queue has only if it was made with it: the part of {@code enum
 * ibv_create_cq_wc_flags} beyond the standard fields. Source: {@code man 3 ibv_create_cq_ex}.
 */
public enum CompletionField {
    /**
     * The moment of the completion in ticks of the device's clock: {@code WorkCompletion.completionTimestamp}. On mlx4
     * the completions of such a queue lack the sender's LID and service level, which are 0 then.
     */
    TIMESTAMP(
            IbvCreateCqWcFlags.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
            "The drivers ionic, irdma, mlx4 and mlx5 have completion timestamps, and so has the embedded device: "
                    + "DeviceAttributesEx.completionTimestampMask is not 0."),
    /** The moment of the completion in nanoseconds since 1970: {@code WorkCompletion.wallClockNanos}. */
    WALL_CLOCK(
            IbvCreateCqWcFlags.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
            "The drivers ionic and mlx5 have wall clock timestamps, and so has the embedded device."),
    /** The tag of the customer's VLAN: {@code WorkCompletion.customerVlan}. */
    CUSTOMER_VLAN(
            IbvCreateCqWcFlags.IBV_WC_EX_WITH_CVLAN, "The drivers hns and mlx5 have the VLAN tag of a completion."),
    /** The tag of the steering rule: {@code WorkCompletion.flowTag}. */
    FLOW_TAG(
            IbvCreateCqWcFlags.IBV_WC_EX_WITH_FLOW_TAG, "The driver mlx5 has the flow tag of a completion."),
    /** What tag matching found: {@code WorkCompletion.matchedTag} and {@code matchedTagData}. */
    TAG_INFO(
            IbvCreateCqWcFlags.IBV_WC_EX_WITH_TM_INFO, "The driver mlx5 has the tag of a completion.");

    private static final CompletionField[] ALL = values();

    private final int bit;
    private final String needs;

    CompletionField(int bit, String needs) {
        this.bit = bit;
        this.needs = needs;
    }

    /** Returns the one bit that stands for this constant in {@code enum ibv_create_cq_wc_flags}. */
    public int bit() {
        return bit;
    }

    /** Returns a whole sentence that says which drivers of rdma-core have the field. */
    public String needs() {
        return needs;
    }

    /** Returns the bits of {@code fields} together; 0 for none. */
    public static int mask(Collection<CompletionField> fields) {
        int mask = 0;
        for (CompletionField field : fields) {
            mask |= field.bit;
        }
        return mask;
    }

    /** Returns a new set of the constants whose bit is in {@code mask}. Ignores bits that have no name. */
    public static EnumSet<CompletionField> of(int mask) {
        EnumSet<CompletionField> set = EnumSet.noneOf(CompletionField.class);
        for (CompletionField each : ALL) {
            if ((mask & each.bit) != 0) {
                set.add(each);
            }
        }
        return set;
    }
}
