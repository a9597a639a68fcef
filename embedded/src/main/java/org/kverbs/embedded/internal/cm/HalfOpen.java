package org.kverbs.embedded.internal.cm;

import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/**
 * Limits the half-open connections of a listener: those that other machines requested and that are not established. A
 * request costs its sender one datagram, from any forged address, and costs this side a queue pair with its memory. So
 * one limit bounds the requests that wait for the program's answer, and another the answered requests that wait for the
 * peer's confirmation. A request beyond the limit is ignored, so that an honest peer asks again. An answer beyond the
 * limit replaces the oldest one of another address, the address that has the most. One address has at most a quarter of
 * the places, for both kinds together, so that a peer that requests many connections at once never loses an answered
 * one to itself.
 */
final class HalfOpen {

    /** The default limit of each kind. */
    static final int MOST = 256;

    private record Source(long gidHigh, long gidLow) {
        static Source of(Connection connection) {
            return new Source(connection.remote.gidHigh(), connection.remote.gidLow());
        }
    }

    private final int most;
    /** The oldest comes first, also in {@link #answered}. */
    private final Set<Connection> asked = new LinkedHashSet<>();
    private final Set<Connection> answered = new LinkedHashSet<>();

    HalfOpen(int most) {
        this.most = most;
    }

    /**
     * Admits a request. Returns false if too many requests wait for the program, or if the address has its share of
     * both kinds.
     */
    boolean admit(Connection connection) {
        if (!connection.remote.port().leadsToOtherProcesses()) {
            return true;
        }
        if (asked.size() >= most || ofSource(asked, connection) + ofSource(answered, connection) >= share()) {
            return false;
        }
        asked.add(connection);
        connection.confirmation.placeIn(this);
        return true;
    }

    private int share() {
        return Math.max(1, most / 4);
    }

    private static long ofSource(Set<Connection> set, Connection connection) {
        Source source = Source.of(connection);
        return set.stream().filter(each -> Source.of(each).equals(source)).count();
    }

    /**
     * Notes that the program answers a request. A connection of another address that waits for its peer may give way.
     */
    void answer(Connection connection) {
        asked.remove(connection);
        if (answered.size() >= most) {
            var counts = new HashMap<Source, Integer>();
            answered.forEach(each -> counts.merge(Source.of(each), 1, Integer::sum));
            // this address has less than its share, so another address has connections to give up
            counts.remove(Source.of(connection));
            int largest = Collections.max(counts.values());
            counts.values().removeIf(count -> count < largest);
            oldest(counts).giveWay();
        }
        answered.add(connection);
    }

    private Connection oldest(Map<Source, Integer> of) {
        return answered.stream().filter(each -> of.containsKey(Source.of(each))).findFirst().orElseThrow();
    }

    /** Notes that a connection is established or ends. */
    void forget(Connection connection) {
        asked.remove(connection);
        answered.remove(connection);
    }
}
