package org.kverbs.ibtool.ports

import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.Target

/** Refuses changes that would cut the way from here to the port that is changed. */
internal object CutCheck {
    /**
     * Does nothing if the port can be asked after the change as before.
     *
     * @throws DiagnosticException if the link goes down by which the node is asked or answers, or its LID changes
     */
    suspend fun check(
        session: Session,
        target: Target,
        here: PortView,
        change: PortChange,
    ) {
        val isEnd = !here.isSwitch || here.number == 0
        val lid = change[PortSetting.LID]
        val movesLid = isEnd && target.lid != 0 && lid != null && lid != here.info.lid.value.toLong()
        val cuts =
            change.operation.cuts &&
                Way(session, target, here.node).ports().let { ways ->
                    here.number in ways || (!here.isSwitch && here.number == 0)
                }
        if (!movesLid && !cuts) return
        throw DiagnosticException(
            "\"$change\" would cut the way from here to $target port ${here.number}; --force does it all the same",
        )
    }
}
