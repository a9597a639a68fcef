package org.kverbs.embedded.internal.wire;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.abi.IbvFlowEspFilter;
import org.kverbs.internal.abi.IbvFlowEthFilter;
import org.kverbs.internal.abi.IbvFlowIpv4ExtFilter;
import org.kverbs.internal.abi.IbvFlowIpv6Filter;
import org.kverbs.internal.abi.IbvFlowTcpUdpFilter;
import org.kverbs.internal.abi.IbvFlowTunnelFilter;
import org.kverbs.internal.abi.IbvRxHashFields;
import org.kverbs.internal.memory.Memory;

/**
 * Reads the headers of an Ethernet frame into the filters of {@code struct ibv_flow_spec_eth} and its relatives, so
 * that a rule compares bytes with bytes. Of a frame that ends within a header, only the headers before it are there.
 * Mutable and reused.
 */
@SuppressWarnings("EnumOrdinal") // an index into an array of this JVM alone
public final class FrameHeaders {

    /** The length of an Ethernet header without a VLAN tag. */
    public static final int ETHERNET = 14;

    /** The length of both addresses, which an Ethernet header begins with. */
    public static final int ADDRESSES = 12;
    /** The most bytes that {@link #hashed} writes: two addresses of IPv6 and two ports. */
    public static final int HASHED = 36;

    private static final int TAG = 4;

    private static final int TYPE_IPV4 = 0x0800;
    private static final int TYPE_IPV6 = 0x86dd;
    /** The types that announce a VLAN tag: those of IEEE 802.1Q and 802.1ad. */
    private static final int TYPE_VLAN = 0x8100;

    private static final int TYPE_OUTER_VLAN = 0x88a8;
    /** IANA's protocol numbers. */
    private static final int TCP = 6;

    private static final int UDP = 17;
    private static final int ESP = 50;
    private static final int HOP_BY_HOP = 0;
    private static final int ROUTING = 43;
    private static final int FRAGMENT = 44;
    private static final int DESTINATION_OPTIONS = 60;

    private static final int VXLAN_PORT = 4789;
    private static final int VXLAN_LENGTH = 8;
    private static final int UDP_LENGTH = 8;
    private static final int ESP_LENGTH = 8;
    /** The bits of {@code ibv_flow_ipv4_ext_filter.flags}, as Linux has them. */
    private static final int DONT_FRAGMENT = 2;

    private static final int MORE_FRAGMENTS = 4;

    private final byte[][] filters = {
        new byte[IbvFlowEthFilter.SIZE],
        new byte[IbvFlowIpv4ExtFilter.SIZE],
        new byte[IbvFlowIpv6Filter.SIZE],
        new byte[IbvFlowTcpUdpFilter.SIZE],
        new byte[IbvFlowTcpUdpFilter.SIZE],
        new byte[IbvFlowEspFilter.SIZE],
        new byte[IbvFlowTunnelFilter.SIZE],
    };
    private final boolean[] there = new boolean[filters.length];
    private boolean isTagged;
    private boolean isFragment;
    /** The headers inside of a tunnel; null in the headers that are inside. */
    private final @Nullable FrameHeaders inner;

    /** Makes the headers of a frame, and those inside of a tunnel. */
    public FrameHeaders() {
        this(new FrameHeaders(null));
    }

    private FrameHeaders(@Nullable FrameHeaders inner) {
        this.inner = inner;
    }

    /** Reads a frame. */
    public void read(long frame, int length) {
        clear();
        if (length < ETHERNET) {
            return;
        }
        byte[] ethernet = filters[HeaderLayer.ETHERNET.ordinal()];
        copy(frame, ethernet, IbvFlowEthFilter.DST_MAC, 12);
        int at = 12;
        int type = bits16(frame + at);
        while ((type == TYPE_VLAN || type == TYPE_OUTER_VLAN) && at + 6 <= length) {
            if (!isTagged) {
                copy(frame + at + 2, ethernet, IbvFlowEthFilter.VLAN_TAG, 2);
                isTagged = true;
            }
            at += 4;
            type = bits16(frame + at);
        }
        copy(frame + at, ethernet, IbvFlowEthFilter.ETHER_TYPE, 2);
        there[HeaderLayer.ETHERNET.ordinal()] = true;
        at += 2;
        if (type == TYPE_IPV4) {
            readIpv4(frame + at, length - at);
        } else if (type == TYPE_IPV6) {
            readIpv6(frame + at, length - at);
        }
    }

    private void clear() {
        Arrays.fill(there, false);
        Arrays.fill(filters[HeaderLayer.ETHERNET.ordinal()], (byte) 0);
        isTagged = false;
        isFragment = false;
        if (inner != null) {
            inner.clear();
        }
    }

    private void readIpv4(long at, int length) {
        int header = length < 20 ? 0 : (bits8(at) & 0xf) * 4;
        if (header < 20 || header > length || bits8(at) >> 4 != 4) {
            return;
        }
        byte[] ip = filters[HeaderLayer.IPV4.ordinal()];
        copy(at + 12, ip, IbvFlowIpv4ExtFilter.SRC_IP, 4);
        copy(at + 16, ip, IbvFlowIpv4ExtFilter.DST_IP, 4);
        int protocol = bits8(at + 9);
        int fragment = bits16(at + 6);
        ip[IbvFlowIpv4ExtFilter.PROTO] = (byte) protocol;
        ip[IbvFlowIpv4ExtFilter.TOS] = (byte) bits8(at + 1);
        ip[IbvFlowIpv4ExtFilter.TTL] = (byte) bits8(at + 8);
        ip[IbvFlowIpv4ExtFilter.FLAGS] = (byte) (((fragment & 0x4000) != 0 ? DONT_FRAGMENT : 0)
                | ((fragment & 0x2000) != 0 ? MORE_FRAGMENTS : 0));
        there[HeaderLayer.IPV4.ordinal()] = true;
        isFragment = (fragment & 0x3fff) != 0;
        if ((fragment & 0x1fff) == 0) { // a later fragment has no header of TCP or UDP
            readPorts(protocol, at + header, length - header);
        }
    }

    private void readIpv6(long at, int length) {
        if (length < 40 || bits8(at) >> 4 != 6) {
            return;
        }
        byte[] ip = filters[HeaderLayer.IPV6.ordinal()];
        copy(at + 8, ip, IbvFlowIpv6Filter.SRC_IP, 16);
        copy(at + 24, ip, IbvFlowIpv6Filter.DST_IP, 16);
        copy(at, ip, IbvFlowIpv6Filter.FLOW_LABEL, 4);
        ip[IbvFlowIpv6Filter.FLOW_LABEL] = 0; // version and traffic class
        ip[IbvFlowIpv6Filter.FLOW_LABEL + 1] &= 0xf;
        ip[IbvFlowIpv6Filter.NEXT_HDR] = (byte) bits8(at + 6);
        ip[IbvFlowIpv6Filter.TRAFFIC_CLASS] = (byte) (bits16(at) >> 4);
        ip[IbvFlowIpv6Filter.HOP_LIMIT] = (byte) bits8(at + 7);
        there[HeaderLayer.IPV6.ordinal()] = true;
        int next = bits8(at + 6);
        int offset = 40;
        while (offset + 8 <= length && isExtension(next)) {
            isFragment |= next == FRAGMENT && (bits16(at + offset + 2) & 0xfff9) != 0;
            if (next == FRAGMENT && (bits16(at + offset + 2) & 0xfff8) != 0) {
                return; // a later fragment has no header of TCP or UDP
            }
            int size = next == FRAGMENT ? 8 : (bits8(at + offset + 1) + 1) * 8;
            next = bits8(at + offset);
            offset += size;
        }
        if (offset <= length) {
            readPorts(next, at + offset, length - offset);
        }
    }

    private static boolean isExtension(int header) {
        return header == HOP_BY_HOP || header == ROUTING || header == FRAGMENT || header == DESTINATION_OPTIONS;
    }

    private void readPorts(int protocol, long at, int length) {
        if (protocol == ESP && length >= ESP_LENGTH) {
            byte[] esp = filters[HeaderLayer.ESP.ordinal()];
            copy(at, esp, IbvFlowEspFilter.SPI, 4);
            copy(at + 4, esp, IbvFlowEspFilter.SEQ, 4);
            there[HeaderLayer.ESP.ordinal()] = true;
        }
        if (protocol != TCP && protocol != UDP || length < (protocol == TCP ? 20 : UDP_LENGTH)) {
            return;
        }
        HeaderLayer layer = protocol == TCP ? HeaderLayer.TCP : HeaderLayer.UDP;
        byte[] ports = filters[layer.ordinal()];
        copy(at, ports, IbvFlowTcpUdpFilter.SRC_PORT, 2);
        copy(at + 2, ports, IbvFlowTcpUdpFilter.DST_PORT, 2);
        there[layer.ordinal()] = true;
        int before = UDP_LENGTH + VXLAN_LENGTH;
        if (protocol == UDP && inner != null && bits16(at + 2) == VXLAN_PORT && length >= before) {
            byte[] tunnel = filters[HeaderLayer.VXLAN.ordinal()];
            copy(at + UDP_LENGTH + 4, tunnel, IbvFlowTunnelFilter.TUNNEL_ID + 1, 3);
            there[HeaderLayer.VXLAN.ordinal()] = true;
            inner.read(at + before, length - before);
        }
    }

    /** Tells whether the header is there and equals the value in the bits of the mask. */
    public boolean match(HeaderLayer layer, boolean isInner, byte[] value, byte[] mask) {
        FrameHeaders headers = isInner ? inner : this;
        if (headers == null || !headers.there[layer.ordinal()]) {
            return false;
        }
        byte[] filter = headers.filters[layer.ordinal()];
        for (int i = 0; i < mask.length; i++) {
            if (((filter[i] ^ value[i]) & mask[i]) != 0) {
                return false;
            }
        }
        return layer != HeaderLayer.ETHERNET || headers.isTagged || !asksForTag(mask);
    }

    private static boolean asksForTag(byte[] mask) {
        return (mask[IbvFlowEthFilter.VLAN_TAG] | mask[IbvFlowEthFilter.VLAN_TAG + 1]) != 0;
    }

    /** Returns the length of the frame's outer tag if it is one of IEEE 802.1Q, a customer's; else 0. */
    public static int customerTag(long frame, int length) {
        return length >= ETHERNET + TAG && bits16(frame + ADDRESSES) == TYPE_VLAN ? TAG : 0;
    }

    /**
     * Writes the fields that a hash is of, as the wire has them: source address, destination address, source port,
     * destination port. Those that the frame does not have are left out, and so are the ports of fragments.
     *
     * @param fields a mask of {@code enum ibv_rx_hash_fields}
     * @return the number of bytes
     */
    public int hashed(long fields, byte[] to) {
        FrameHeaders headers = (fields & IbvRxHashFields.IBV_RX_HASH_INNER) == 0 ? this : inner;
        if (headers == null) {
            return 0;
        }
        int at = headers.address(HeaderLayer.IPV4, fields, IbvRxHashFields.IBV_RX_HASH_SRC_IPV4, to, 0);
        at = headers.address(HeaderLayer.IPV6, fields, IbvRxHashFields.IBV_RX_HASH_SRC_IPV6, to, at);
        if (!headers.isFragment) {
            at = headers.ports(HeaderLayer.TCP, fields, IbvRxHashFields.IBV_RX_HASH_SRC_PORT_TCP, to, at);
            at = headers.ports(HeaderLayer.UDP, fields, IbvRxHashFields.IBV_RX_HASH_SRC_PORT_UDP, to, at);
        }
        return at;
    }

    /** Copies the addresses; the bit of the destination follows that of the source in {@code fields}. */
    private int address(HeaderLayer layer, long fields, long source, byte[] to, int at) {
        boolean isIpv4 = layer == HeaderLayer.IPV4;
        return copyPair(
                layer,
                fields,
                source,
                isIpv4 ? IbvFlowIpv4ExtFilter.SRC_IP : IbvFlowIpv6Filter.SRC_IP,
                isIpv4 ? IbvFlowIpv4ExtFilter.DST_IP : IbvFlowIpv6Filter.DST_IP,
                isIpv4 ? 4 : 16,
                to,
                at);
    }

    private int ports(HeaderLayer layer, long fields, long source, byte[] to, int at) {
        return copyPair(
                layer, fields, source, IbvFlowTcpUdpFilter.SRC_PORT, IbvFlowTcpUdpFilter.DST_PORT, 2, to, at);
    }

    private int copyPair(HeaderLayer layer, long fields, long source, int from, int destinationFrom, int bytes,
            byte[] to, int at) {
        int next = at;
        if (there[layer.ordinal()]) {
            byte[] filter = filters[layer.ordinal()];
            if ((fields & source) != 0) {
                System.arraycopy(filter, from, to, next, bytes);
                next += bytes;
            }
            if ((fields & source << 1) != 0) {
                System.arraycopy(filter, destinationFrom, to, next, bytes);
                next += bytes;
            }
        }
        return next;
    }

    /** Tells whether the frame is for a group of stations. */
    public boolean isMulticast() {
        return (filters[HeaderLayer.ETHERNET.ordinal()][IbvFlowEthFilter.DST_MAC] & 1) != 0;
    }

    private static void copy(long from, byte[] to, int offset, int bytes) {
        for (int i = 0; i < bytes; i++) {
            to[offset + i] = Memory.getByte(from + i);
        }
    }

    private static int bits8(long at) {
        return Byte.toUnsignedInt(Memory.getByte(at));
    }

    private static int bits16(long at) {
        return bits8(at) << 8 | bits8(at + 1);
    }
}
