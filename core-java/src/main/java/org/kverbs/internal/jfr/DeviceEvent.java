package org.kverbs.internal.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

@Name("org.kverbs.AsyncEvent")
@Label("Asynchronous Event")
@Description("An event of a device, a port or a queue, when the program took it")
@Category("kverbs")
@StackTrace(false)
final class DeviceEvent extends Event {

    @Label("Device")
    @Nullable String device;

    @Label("Type")
    @Description("As in enum ibv_event_type")
    @Nullable String type;

    @Label("Source")
    @Nullable String source;

    static void record(String device, String type, String source) {
        var event = new DeviceEvent();
        if (event.shouldCommit()) {
            event.device = device;
            event.type = type;
            event.source = source;
            event.commit();
        }
    }
}
