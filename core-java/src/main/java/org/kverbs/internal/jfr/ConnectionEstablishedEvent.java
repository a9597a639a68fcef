package org.kverbs.internal.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

@Name("org.kverbs.ConnectionEstablished")
@Label("Connection Established")
@Description("A connection by the connection manager; the duration is that of its set-up")
@Category("kverbs")
@StackTrace(false)
final class ConnectionEstablishedEvent extends Event {

    @Label("Device")
    @Nullable String device;

    @Label("Queue Pair")
    int queuePair;

    @Label("Peer")
    @Nullable String peer;

    @Label("Asked")
    @Description("True on the side that connected, false on the side that accepted")
    boolean asked;
}
