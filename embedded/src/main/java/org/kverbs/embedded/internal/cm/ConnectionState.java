package org.kverbs.embedded.internal.cm;

/** How far a {@link Connection} is, in the order in which it gets there (IBA volume 1, section 12.9.5). */
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

    /** Whether the connection is made or up; once it ends, there is nothing to prepare a queue pair for. */
    boolean isUnderWay() {
        return compareTo(ESTABLISHED) <= 0;
    }
}
