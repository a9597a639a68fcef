package org.kverbs.attributes;

import java.util.HexFormat;

/**
 * The Ethernet address of a destination: what {@code ibv_resolve_eth_l2_from_gid} finds.
 *
 * @param mac the 48 bits of the MAC address as a number: {@code 02:00:00:00:00:01} is 0x020000000001
 * @param vlan the number of the VLAN, or {@link #NO_VLAN}
 */
public record EthernetAddress(long mac, int vlan) {

    /** Stands for a destination without a VLAN. */
    public static final int NO_VLAN = 0xffff;

    /** Returns the MAC address as six pairs of digits, and the VLAN if there is one. */
    @Override
    public String toString() {
        byte[] bytes = new byte[6];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) (mac >>> 8 * (bytes.length - 1 - i));
        }
        return HexFormat.ofDelimiter(":").formatHex(bytes) + (vlan == NO_VLAN ? "" : " vlan " + vlan);
    }
}
