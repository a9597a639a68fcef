package org.kverbs.management.trace

import jdk.jfr.Category
import jdk.jfr.Description
import jdk.jfr.Event
import jdk.jfr.Label
import jdk.jfr.Name
import jdk.jfr.StackTrace
import org.kverbs.management.transaction.MadEvent
import org.kverbs.management.transaction.MadListener

/**
 * Makes an event of Java Flight Recorder of each event of a fabric: `fabric(transport) { listener(JfrListener) }`. The
 * events have the name `org.kverbs.Mad`, the kind as in [org.kverbs.management.transaction.MadEventKind], and what the
 * datagram is in one line. Without a recording they cost nothing worth measuring.
 */
public object JfrListener : MadListener {
    @Name("org.kverbs.Mad")
    @Label("Management datagram")
    @Description("What happened to a management datagram of InfiniBand")
    @Category("kverbs")
    @StackTrace(false)
    private class MadJfrEvent(
        @Label("Kind") @JvmField val kind: String,
        @Label("Datagram") @JvmField val datagram: String,
    ) : Event()

    override fun on(event: MadEvent) {
        if (!MadJfrEvent("", "").isEnabled) return
        MadJfrEvent(event.kind.name, "$event".substringAfter(' ')).commit()
    }
}
