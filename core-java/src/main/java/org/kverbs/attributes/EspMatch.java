package org.kverbs.attributes;

import org.kverbs.internal.abi.IbvFlowEspFilter;
import org.kverbs.internal.abi.IbvFlowSpecEsp;
import org.kverbs.internal.abi.IbvFlowSpecType;

/**
 * What a flow rule asks of the ESP header of IPsec: {@code struct ibv_flow_spec_esp}. An action decrypts the packets
 * that match: {@code FlowAttributesBuilder.action}.
 */
public final class EspMatch extends FlowMatch {

    private static final long WHOLE = 0xffff_ffffL;

    /** Makes a match of any ESP packet. */
    public EspMatch() {
        super("esp", IbvFlowEspFilter.SIZE);
    }

    private EspMatch(EspMatch from) {
        super(from);
    }

    @Override
    public EspMatch copy() {
        return new EspMatch(this);
    }

    /** Asks for a Security Parameters Index, 32 bits. */
    public EspMatch spi(int index) {
        ask("spi", IbvFlowEspFilter.SPI, Integer.BYTES, Integer.toUnsignedLong(index), WHOLE);
        return this;
    }

    /** Asks for a sequence number, 32 bits. */
    public EspMatch sequence(int number) {
        ask("sequence", IbvFlowEspFilter.SEQ, Integer.BYTES, Integer.toUnsignedLong(number), WHOLE);
        return this;
    }

    /** Takes this for the header inside of a tunnel ({@code IBV_FLOW_SPEC_INNER}). */
    public EspMatch inner() {
        setInner();
        return this;
    }

    @Override
    int type() {
        return IbvFlowSpecType.IBV_FLOW_SPEC_ESP;
    }

    @Override
    int size() {
        return IbvFlowSpecEsp.SIZE;
    }

    @Override
    int valueOffset() {
        return IbvFlowSpecEsp.VAL;
    }

    @Override
    int maskOffset() {
        return IbvFlowSpecEsp.MASK;
    }
}
