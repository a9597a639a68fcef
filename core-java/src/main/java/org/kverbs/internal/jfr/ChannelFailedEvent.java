package org.kverbs.internal.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

@Name("org.kverbs.ChannelFailed")
@Label("Channel Failed")
@Description("A message channel that ended before its program closed it")
@Category("kverbs")
@StackTrace(false)
final class ChannelFailedEvent extends Event {

    @Label("Device")
    @Nullable String device;

    @Label("Queue Pair")
    int queuePair;

    @Label("Reason")
    @Nullable String reason;

    static void record(String device, int queuePair, Throwable cause) {
        var event = new ChannelFailedEvent();
        if (event.shouldCommit()) {
            event.device = device;
            event.queuePair = queuePair;
            event.reason = cause.toString();
            event.commit();
        }
    }
}
