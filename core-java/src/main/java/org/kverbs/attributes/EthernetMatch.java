package org.kverbs.attributes;

import org.kverbs.internal.abi.IbvFlowEthFilter;
import org.kverbs.internal.abi.IbvFlowSpecEth;
import org.kverbs.internal.abi.IbvFlowSpecType;
import org.kverbs.internal.values.Ranges;

/** What a flow rule asks of the Ethernet header: {@code struct ibv_flow_spec_eth}. */
public final class EthernetMatch extends FlowMatch {

    private static final MacAddress WHOLE = MacAddress.BROADCAST;
    /** The bits of a VLAN tag that hold the VLAN's number. */
    private static final int VLAN_ID = 0xfff;

    /** Makes a match of any Ethernet frame. */
    public EthernetMatch() {
        super("ethernet", IbvFlowEthFilter.SIZE);
    }

    private EthernetMatch(EthernetMatch from) {
        super(from);
    }

    @Override
    public EthernetMatch copy() {
        return new EthernetMatch(this);
    }

    /** Takes this for the Ethernet header inside of a tunnel. */
    public EthernetMatch inner() {
        setInner();
        return this;
    }

    /** Asks for a destination address. */
    public EthernetMatch destination(MacAddress address) {
        return destination(address, WHOLE);
    }

    /** Asks for the bits of a destination address that are set in a mask. */
    public EthernetMatch destination(MacAddress address, MacAddress mask) {
        ask("destination", IbvFlowEthFilter.DST_MAC, address.toBytes(), mask.toBytes(), text(address, mask));
        return this;
    }

    /** Asks for a source address. */
    public EthernetMatch source(MacAddress address) {
        return source(address, WHOLE);
    }

    /** Asks for the bits of a source address that are set in a mask. */
    public EthernetMatch source(MacAddress address, MacAddress mask) {
        ask("source", IbvFlowEthFilter.SRC_MAC, address.toBytes(), mask.toBytes(), text(address, mask));
        return this;
    }

    private static String text(MacAddress address, MacAddress mask) {
        return mask.equals(WHOLE) ? address.toString() : address + "/" + mask;
    }

    /** Asks for the type after the last VLAN tag: 0x0800 for IPv4, 0x86dd for IPv6. */
    public EthernetMatch etherType(int type) {
        ask("etherType", IbvFlowEthFilter.ETHER_TYPE, Short.BYTES, type, 0xffff);
        return this;
    }

    /** Asks for a VLAN, by its number of 12 bits in the outer tag. */
    public EthernetMatch vlan(int id) {
        Ranges.require("vlan", id, 0, VLAN_ID);
        ask("vlan", IbvFlowEthFilter.VLAN_TAG, Short.BYTES, id, VLAN_ID);
        return this;
    }

    @Override
    int type() {
        return IbvFlowSpecType.IBV_FLOW_SPEC_ETH;
    }

    @Override
    int size() {
        return IbvFlowSpecEth.SIZE;
    }

    @Override
    int valueOffset() {
        return IbvFlowSpecEth.VAL;
    }

    @Override
    int maskOffset() {
        return IbvFlowSpecEth.MASK;
    }
}
