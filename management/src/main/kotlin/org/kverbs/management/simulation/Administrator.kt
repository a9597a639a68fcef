package org.kverbs.management.simulation

import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath
import org.kverbs.management.rmpp.RmppSettings
import org.kverbs.management.rmpp.RmppTransport
import org.kverbs.management.transport.MadReceiver
import org.kverbs.management.transport.MadTransport
import org.kverbs.structures.Lid
import kotlin.coroutines.CoroutineContext

/** The program at the manager's port that takes the requests of subnet administration, and answers them by RMPP. */
internal class Administrator(
    port: MadTransport,
    context: CoroutineContext,
    private val answers: Administration,
) : MadReceiver,
    AutoCloseable {
    private val transport = RmppTransport(port, RmppSettings(), context)

    init {
        transport.receive(this)
    }

    /** Reports a trap to all its subscribers. Each report is sent once. */
    fun report(trap: ByteArray) {
        for ((lid, message) in answers.reports(trap)) put(message, LidPath(Lid(lid)))
    }

    /** Notices which end ports came and went. The exchange's lock is held. */
    fun changed(
        before: List<Int>,
        after: List<Int>,
    ) = answers.changed(before, after)

    /** Reports what the administrator has noticed by itself. */
    fun tell() = answers.takeNoticed().forEach(::report)

    private fun put(
        mad: ByteArray,
        path: LidPath,
    ) {
        try {
            transport.send(mad, path)
        } catch (_: IllegalStateException) {
            // The simulation was closed meanwhile.
        }
    }

    override fun received(
        mad: ByteArray,
        back: MadPath?,
    ) {
        if (back !is LidPath || Mads.isResponse(mad) || mad.size < Administration.DATA) return
        val answer = answers.answer(mad, back.destination.value) ?: return
        put(answer, back)
        tell()
    }

    override fun undelivered(mad: ByteArray) {
        // The program that asked is gone: its answer is dropped.
    }

    override fun close() = transport.close()
}
