package org.kverbs.attributes;

/**
 * The Ethernet address of a destination: what {@code ibv_resolve_eth_l2_from_gid} finds.
 *
 * @param mac the MAC address
 * @param vlan the number of the VLAN, or {@link #NO_VLAN}
 */
public record EthernetAddress(MacAddress mac, int vlan) {

    /** Stands for a destination without a VLAN. */
    public static final int NO_VLAN = 0xffff;

    /** Returns the MAC address as six pairs of digits, and the VLAN if there is one. */
    @Override
    public String toString() {
        return mac + (vlan == NO_VLAN ? "" : " vlan " + vlan);
    }
}
