package org.kverbs.embedded.internal.wire;

/** Lists the headers that a flow rule can look at, in their order in a frame. */
public enum HeaderLayer {
    ETHERNET,
    IPV4,
    IPV6,
    TCP,
    UDP,
    ESP,
    VXLAN
}
