package org.kverbs.attributes;

import org.kverbs.internal.abi.IbvFlowSpecTunnel;
import org.kverbs.internal.abi.IbvFlowSpecType;
import org.kverbs.internal.abi.IbvFlowTunnelFilter;
import org.kverbs.internal.values.Ranges;

/**
 * What a flow rule asks of the VXLAN header: {@code struct ibv_flow_spec_tunnel} of type {@code
 * IBV_FLOW_SPEC_VXLAN_TUNNEL}. The matches of the frame inside of the tunnel follow with {@code inner()}.
 */
public final class VxlanMatch extends FlowMatch {

    private static final int NETWORK = 0xffffff;

    /** Makes a match of any VXLAN packet. */
    public VxlanMatch() {
        super("vxlan", IbvFlowTunnelFilter.SIZE);
    }

    private VxlanMatch(VxlanMatch from) {
        super(from);
    }

    @Override
    public VxlanMatch copy() {
        return new VxlanMatch(this);
    }

    /** Asks for a network identifier, 24 bits ({@code tunnel_id}). */
    public VxlanMatch network(int identifier) {
        Ranges.require("network", identifier, 0, NETWORK);
        ask("network", IbvFlowTunnelFilter.TUNNEL_ID, Integer.BYTES, identifier, 0xffff_ffffL);
        return this;
    }

    @Override
    int type() {
        return IbvFlowSpecType.IBV_FLOW_SPEC_VXLAN_TUNNEL;
    }

    @Override
    int size() {
        return IbvFlowSpecTunnel.SIZE;
    }

    @Override
    int valueOffset() {
        return IbvFlowSpecTunnel.VAL;
    }

    @Override
    int maskOffset() {
        return IbvFlowSpecTunnel.MASK;
    }
}
