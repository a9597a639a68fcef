package org.kverbs.internal.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

@Name("org.kverbs.ConnectionFailed")
@Label("Connection Failed")
@Description("A connection that was not established; the duration is that of the attempt")
@Category("kverbs")
@StackTrace(false)
final class ConnectionFailedEvent extends Event {

    @Label("Peer")
    @Nullable String peer;

    @Label("Asked")
    @Description("True on the side that connected, false on the side that accepted")
    boolean asked;

    @Label("Reason")
    @Nullable String reason;
}
