package org.kverbs.ibtool.session

import org.kverbs.management.fabric.FabricBuilder
import org.kverbs.management.structures.MADHeader
import org.kverbs.management.trace.captured
import org.kverbs.management.transaction.MadEvent
import org.kverbs.management.transaction.MadEventKind
import org.kverbs.management.transport.MadTransport
import java.io.IOException

private val calm =
    setOf(
        MadEventKind.SENT,
        MadEventKind.COMPLETED,
        MadEventKind.CANCELLED,
        MadEventKind.REQUESTED,
        MadEventKind.ANSWERED,
    )

/** Without the direction of a directed route. */
private const val STATUS = 0x7fff

/** Shows what happens to datagrams: with `-d` a line for each, with `-dd` decoded, with `-e` those that failed. */
internal fun FabricBuilder.trace(
    options: CommonOptions,
    warn: (String) -> Unit,
) {
    when {
        options.debug > 1 -> listener { warn(it.dump().lines().joinToString("\n", transform = ::printable)) }
        options.debug == 1 -> listener { warn("$it") }
        options.showsErrors -> listener { if (isFailure(it)) warn("$it") }
    }
}

private fun isFailure(event: MadEvent): Boolean =
    event.kind !in calm ||
        (event.kind == MadEventKind.COMPLETED && MADHeader.at(event.mad).status and STATUS != 0)

/** Writes the datagrams to the file of `--pcap`, if there is one. */
internal fun MadTransport.captured(options: CommonOptions): MadTransport {
    val file = options.pcap ?: return this
    try {
        OutputFile.checked("--pcap", file)
        return captured(file)
    } catch (e: IOException) {
        close()
        throw DiagnosticException("--pcap ${printable("$file")} cannot be written: ${problemOf(e)}", cause = e)
    } catch (e: DiagnosticException) {
        close()
        throw e
    }
}
