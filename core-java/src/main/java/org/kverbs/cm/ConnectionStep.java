package org.kverbs.cm;

/** A step of a connection that an exception can name. */
public enum ConnectionStep {
    /** Finding the device that leads to an address. */
    RESOLVE_ADDRESS("resolving the address"),
    /** Finding the route to an address. */
    RESOLVE_ROUTE("resolving the route to"),
    /** Connecting to a peer that listens; for datagrams, asking for the peer's queue pair. */
    CONNECT("connecting to"),
    /** Accepting a peer's request. */
    ACCEPT("accepting the connection of"),
    /** Joining a multicast group. */
    JOIN_MULTICAST("joining the multicast group"),
    /** Keeping an established connection. */
    STAY_CONNECTED("staying connected to");

    private final String phrase;

    ConnectionStep(String phrase) {
        this.phrase = phrase;
    }

    /** Returns a phrase for the step, to be followed by the address: {@code connecting to}. */
    public String phrase() {
        return phrase;
    }
}
