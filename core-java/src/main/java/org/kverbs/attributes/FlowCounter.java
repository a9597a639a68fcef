package org.kverbs.attributes;

import org.kverbs.internal.abi.IbvCounterDescription;

/** What a counter of a flow counts: {@code enum ibv_counter_description}. */
public enum FlowCounter {
    /** {@code IBV_COUNTER_PACKETS}: frames that the rule took. */
    PACKETS(IbvCounterDescription.IBV_COUNTER_PACKETS),
    /** {@code IBV_COUNTER_BYTES}: the bytes of these frames, from the Ethernet header on. */
    BYTES(IbvCounterDescription.IBV_COUNTER_BYTES);

    private final int code;

    FlowCounter(int code) {
        this.code = code;
    }

    /** Returns the number that {@code enum ibv_counter_description} gives this constant. */
    public int code() {
        return code;
    }
}
