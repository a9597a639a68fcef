package org.kverbs.embedded.internal.cm;

import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/**
 * The connections of a listener that other machines asked for and that are not established. A request costs its sender
 * one datagram from any address that it likes to name, and this side a queue pair with its memory: so many may wait for
 * the program's answer, and so many answered ones for the peer's confirmation. A request beyond that is not answered,
 * so that an honest peer asks again; an answer beyond that takes the place of the oldest one of the other address that
 * has the most. One address has a quarter of the places at most, for both kinds together: a peer that asks for many at
 * once loses none that it was answered.
 */
final class HalfOpen {

    /** How many there may be of each kind, where nothing else is configured. */
    static final int MOST = 256;

    private record Source(long gidHigh, long gidLow) {
        static Source of(Connection connection) {
            return new Source(connection.remote.gidHigh(), connection.remote.gidLow());
        }
    }

    private final int most;
    /** Oldest first, as those below. */
    private final Set<Connection> asked = new LinkedHashSet<>();
    private final Set<Connection> answered = new LinkedHashSet<>();

    HalfOpen(int most) {
        this.most = most;
    }

    /** Takes a request, or refuses it since too many wait for the program, or too many of its address for either. */
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

    /** The program answers a request. One of another address that waits for its peer's confirmation may give way. */
    void answer(Connection connection) {
        asked.remove(connection);
        if (answered.size() >= most) {
            var counts = new HashMap<Source, Integer>();
            answered.forEach(each -> counts.merge(Source.of(each), 1, Integer::sum));
            counts.remove(Source.of(connection)); // it leaves others some, as it has less than its share
            int largest = Collections.max(counts.values());
            counts.values().removeIf(count -> count < largest);
            oldest(counts).giveWay();
        }
        answered.add(connection);
    }

    private Connection oldest(Map<Source, Integer> of) {
        return answered.stream().filter(each -> of.containsKey(Source.of(each))).findFirst().orElseThrow();
    }

    /** A connection is established, or ends. */
    void forget(Connection connection) {
        asked.remove(connection);
        answered.remove(connection);
    }
}
