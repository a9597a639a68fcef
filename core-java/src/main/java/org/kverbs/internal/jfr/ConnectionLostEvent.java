package org.kverbs.internal.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;
import org.jspecify.annotations.Nullable;

@Name("org.kverbs.ConnectionLost")
@Label("Connection Lost")
@Description("A connection that ended without a call of this side")
@Category("kverbs")
@StackTrace(false)
final class ConnectionLostEvent extends Event {

    @Label("Device")
    @Nullable String device;

    @Label("Queue Pair")
    int queuePair;

    @Label("Peer")
    @Nullable String peer;

    @Label("Lifetime")
    @Description("How long the connection was up")
    @Timespan
    long lifetime;

    @Label("Reason")
    @Nullable String reason;

    static void record(String device, int queuePair, @Nullable String peer, long nanos, String reason) {
        var event = new ConnectionLostEvent();
        if (event.shouldCommit()) {
            event.device = device;
            event.queuePair = queuePair;
            event.peer = peer;
            event.lifetime = nanos;
            event.reason = reason;
            event.commit();
        }
    }
}
