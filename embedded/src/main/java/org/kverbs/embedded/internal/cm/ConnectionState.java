package org.kverbs.embedded.internal.cm;

/**
 * Lists the states of a {@link Connection}, in the order in which it passes through them (IBA volume 1, section
 * 12.9.5).
 */
enum ConnectionState {
    REQ_SENT,
    REQ_RECEIVED,
    REP_SENT,
    REP_RECEIVED,
    ESTABLISHED,
    DREQ_SENT,
    DREQ_RECEIVED,
    TIMEWAIT,
    GONE;

    /** Tells whether the connection is being made or is up. Once it ends, a queue pair needs no attributes any more. */
    boolean isUnderWay() {
        return compareTo(ESTABLISHED) <= 0;
    }
}
