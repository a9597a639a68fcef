package org.kverbs.cm;

/** A step on the way to a connection, for errors to name. */
public enum ConnectionStep {
    /** Finding the device that leads to an address. */
    RESOLVE_ADDRESS("resolving the address"),
    /** Finding the way to it. */
    RESOLVE_ROUTE("resolving the route to"),
    /** Connecting to a peer that listens; for datagrams, asking for its queue pair. */
    CONNECT("connecting to"),
    /** Taking a peer's request. */
    ACCEPT("accepting the connection of"),
    /** Joining a multicast group. */
    JOIN_MULTICAST("joining the multicast group"),
    /** All after that. */
    STAY_CONNECTED("staying connected to");

    private final String phrase;

    ConnectionStep(String phrase) {
        this.phrase = phrase;
    }

    /** What is done, as a phrase before the address: {@code connecting to}. */
    public String phrase() {
        return phrase;
    }
}
