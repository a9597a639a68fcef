package org.kverbs.internal.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

@Name("org.kverbs.CompletionError")
@Label("Completion Error")
@Description("A work request that the device accepted, and that failed later")
@Category("kverbs")
@StackTrace(false)
final class CompletionErrorEvent extends Event {

    @Label("Device")
    @Nullable String device;

    @Label("Queue Pair")
    int queuePair;

    @Label("Work Request")
    @Description("The id that the request was posted with")
    long workRequest;

    @Label("Status")
    @Description("As in enum ibv_wc_status")
    @Nullable String status;

    @Label("Operation")
    @Nullable String operation;

    @Label("Vendor Error")
    int vendorError;

    static void record(@Nullable String device, int queuePair, long workRequest, String status,
            @Nullable String operation, int vendorError) {
        var event = new CompletionErrorEvent();
        if (event.shouldCommit()) {
            event.device = device;
            event.queuePair = queuePair;
            event.workRequest = workRequest;
            event.status = status;
            event.operation = operation;
            event.vendorError = vendorError;
            event.commit();
        }
    }
}
