package org.kverbs.attributes;

import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.StringJoiner;
import org.kverbs.internal.abi.IbvFlowSpecType;
import org.kverbs.internal.values.Ranges;

/**
 * What a flow rule asks of one header of a frame: {@code struct ibv_flow_spec_eth} and its relatives. Each setter adds
 * a condition; a field without a condition has any value. A match without a condition asks only for the header.
 *
 * <p>Numbers are in the order of the machine; the C structure has them in the order of the wire. Not for several
 * threads at once. Source: {@code man 3 ibv_create_flow}.
 */
public abstract sealed class FlowMatch permits EthernetMatch, EspMatch, Ipv4Match, Ipv6Match, PortMatch, VxlanMatch {

    private final String layer;
    private final byte[] value;
    private final byte[] mask;
    private final StringJoiner conditions = new StringJoiner(", ");
    private boolean isInner;

    /** Makes a match of any header of its layer. */
    FlowMatch(String layer, int filterSize) {
        this.layer = layer;
        this.value = new byte[filterSize];
        this.mask = new byte[filterSize];
    }

    /** Makes a copy. */
    FlowMatch(FlowMatch from) {
        this.layer = from.layer;
        this.value = from.value.clone();
        this.mask = from.mask.clone();
        this.isInner = from.isInner;
        this.conditions.merge(from.conditions);
    }

    /** Returns a copy, which later calls of the setters do not change. */
    public abstract FlowMatch copy();

    /** Returns the number of {@code enum ibv_flow_spec_type}, without the bit for inner headers. */
    abstract int type();

    /** Returns the size of the C structure in bytes. */
    abstract int size();

    /** Returns the offset of {@code val} in the C structure. */
    abstract int valueOffset();

    /** Returns the offset of {@code mask} in the C structure. */
    abstract int maskOffset();

    /** Returns whether the header is one inside a tunnel. */
    public final boolean isInner() {
        return isInner;
    }

    /** Takes this for the header inside of a tunnel ({@code IBV_FLOW_SPEC_INNER}). */
    final void setInner() {
        isInner = true;
    }

    /** Returns the bytes of the C structure, in the order of this machine where C has numbers. */
    public final byte[] toBytes() {
        ByteBuffer bytes = ByteBuffer.allocate(size()).order(ByteOrder.nativeOrder());
        bytes.putInt(type() | (isInner ? IbvFlowSpecType.IBV_FLOW_SPEC_INNER : 0));
        bytes.putShort((short) size());
        int length = maskOffset() - valueOffset();
        bytes.put(valueOffset(), value, 0, Math.min(length, value.length));
        bytes.put(maskOffset(), mask, 0, Math.min(length, mask.length));
        return bytes.array();
    }

    /** Adds the condition that the bits of {@code bits} equal those of {@code wanted}. */
    final void ask(String name, int offset, byte[] wanted, byte[] bits, Object text) {
        for (int i = 0; i < wanted.length; i++) {
            value[offset + i] = (byte) (wanted[i] & bits[i]);
            mask[offset + i] = bits[i];
        }
        conditions.add(name + "=" + text);
    }

    /** Adds a condition on a number of 1, 2 or 4 bytes, which has the order of the wire in a frame. */
    final void ask(String name, int offset, int bytes, long wanted, long bits) {
        long most = (1L << bytes * Byte.SIZE) - 1;
        Ranges.require(name, wanted, 0, most);
        Ranges.require("the mask of " + name, bits, 0, most);
        boolean whole = bits == most;
        String shown = wanted + (whole ? "" : "/0x" + Long.toHexString(bits));
        ask(name, offset, wire(wanted, bytes), wire(bits, bytes), shown);
    }

    /** Adds a condition on an address or a network. */
    final void askNetwork(String name, int offset, int bytes, String network) {
        int slash = network.indexOf('/');
        byte[] address = InetAddress.ofLiteral(slash < 0 ? network : network.substring(0, slash)).getAddress();
        if (address.length != bytes) {
            throw new IllegalArgumentException(name + " " + network + " is no address of " + layer + ".");
        }
        int prefix = slash < 0 ? bytes * Byte.SIZE : Integer.parseInt(network.substring(slash + 1));
        Ranges.require("the prefix length of " + network, prefix, 0, bytes * Byte.SIZE);
        byte[] bits = new byte[bytes];
        for (int i = 0; i < prefix; i++) {
            bits[i / Byte.SIZE] |= (byte) (0x80 >> i % Byte.SIZE);
        }
        ask(name, offset, address, bits, network);
    }

    private static byte[] wire(long number, int bytes) {
        byte[] wire = new byte[bytes];
        for (int i = 0; i < bytes; i++) {
            wire[i] = (byte) (number >> (bytes - 1 - i) * Byte.SIZE);
        }
        return wire;
    }

    /** Returns the layer and the conditions, as in {@code udp(destinationPort=4791)}. */
    @Override
    public final String toString() {
        return (isInner ? "inner " : "") + layer + "(" + conditions + ")";
    }
}
