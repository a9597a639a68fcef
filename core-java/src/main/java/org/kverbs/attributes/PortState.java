package org.kverbs.attributes;

import org.kverbs.internal.abi.IbvPortState;

/**
 * The logical state of a port: {@code enum ibv_port_state} (IBA volume 1, section 14.2.5.6, PortState). Only an
 * {@link #ACTIVE} port carries data.
 */
public enum PortState {
    /** {@code IBV_PORT_NOP}: no state; in a request it leaves the state unchanged. */
    NOP(IbvPortState.IBV_PORT_NOP),
    /** {@code IBV_PORT_DOWN}: the link is down. */
    DOWN(IbvPortState.IBV_PORT_DOWN),
    /** {@code IBV_PORT_INIT}: the link is up, and the subnet manager has not configured the port yet. */
    INIT(IbvPortState.IBV_PORT_INIT),
    /** {@code IBV_PORT_ARMED}: the subnet manager has configured the port and has not made it active yet. */
    ARMED(IbvPortState.IBV_PORT_ARMED),
    /** {@code IBV_PORT_ACTIVE}: the port carries data. */
    ACTIVE(IbvPortState.IBV_PORT_ACTIVE),
    /** {@code IBV_PORT_ACTIVE_DEFER}: the port was active, and its link fails at the moment; the link can recover. */
    ACTIVE_DEFER(IbvPortState.IBV_PORT_ACTIVE_DEFER),
    /** A value that this release of kverbs has no name for. C has no such constant. */
    UNKNOWN(-1);

    private static final PortState[] ALL = values();

    private final int code;

    PortState(int code) {
        this.code = code;
    }

    /** Returns the number that {@code enum ibv_port_state} gives this constant; -1 for {@link #UNKNOWN}. */
    public int code() {
        return code;
    }

    /** Returns the constant whose number is {@code code}, or {@link #UNKNOWN} if there is none; never throws. */
    public static PortState of(int code) {
        for (PortState each : ALL) {
            if (each.code == code) {
                return each;
            }
        }
        return UNKNOWN;
    }
}
