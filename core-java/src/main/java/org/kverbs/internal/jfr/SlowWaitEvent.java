package org.kverbs.internal.jfr;

import java.util.function.Supplier;
import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Threshold;
import org.jspecify.annotations.Nullable;

@Name("org.kverbs.SlowWait")
@Label("Slow Wait")
@Description("A caller that waited long for room in a queue, for a credit of the peer or for a buffer")
@Category("kverbs")
@StackTrace(false)
@Threshold("20 ms")
final class SlowWaitEvent extends Event implements MeasuredWait {

    @Label("What")
    @Nullable String what;

    @Label("Where")
    @Nullable String where;

    static @Nullable MeasuredWait beginOrNull() {
        var event = new SlowWaitEvent();
        if (!event.isEnabled()) {
            return null;
        }
        event.begin();
        return event;
    }

    @Override
    public void end(String what, Supplier<String> where) {
        end();
        if (shouldCommit()) {
            this.what = what;
            this.where = where.get();
            commit();
        }
    }
}
