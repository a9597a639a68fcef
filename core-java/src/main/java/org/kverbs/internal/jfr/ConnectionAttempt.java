package org.kverbs.internal.jfr;

import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/** A connection that is being set up. One thread begins the attempt, and any one thread ends it. */
public final class ConnectionAttempt {

    private final ConnectionEstablishedEvent established = new ConnectionEstablishedEvent();
    private final ConnectionFailedEvent failed = new ConnectionFailedEvent();

    private ConnectionAttempt() {}

    static @Nullable ConnectionAttempt begin() {
        var attempt = new ConnectionAttempt();
        if (!attempt.established.isEnabled() && !attempt.failed.isEnabled()) {
            return null;
        }
        attempt.established.begin();
        attempt.failed.begin();
        return attempt;
    }

    /**
     * Records that the connection is up.
     *
     * @param asked whether this side connected, rather than accepted
     */
    public void established(String device, int queuePairNumber, @Nullable InetSocketAddress peer, boolean asked) {
        established.end();
        if (established.shouldCommit()) {
            established.device = device;
            established.queuePair = queuePairNumber;
            established.peer = FlightRecords.text(peer);
            established.asked = asked;
            established.commit();
        }
    }

    /** Records that the connection was not set up. */
    public void failed(@Nullable InetSocketAddress peer, boolean asked, Throwable reason) {
        failed.end();
        if (failed.shouldCommit()) {
            failed.peer = FlightRecords.text(peer);
            failed.asked = asked;
            failed.reason = reason.toString();
            failed.commit();
        }
    }
}
