package org.kverbs.ibtool.smp

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.convert
import com.github.ajalt.clikt.parameters.arguments.default
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import org.kverbs.ibtool.session.DiagnosticCommand
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.hex
import org.kverbs.ibtool.session.int
import org.kverbs.ibtool.session.target
import org.kverbs.management.path.DirectedPath
import org.kverbs.management.transaction.MadStatusException

/** `smpdump`: the bytes of an attribute of subnet management. */
internal class SmpDumpCommand : DiagnosticCommand("smpdump", "GKs") {
    private val isText by option("--string", "-s", help = "Show the bytes as text").flag()
    private val address by argument("address", help = "LID, or with -D a directed path")
    private val attribute by argument("attribute", help = "The number of the attribute").convert { int(it) }
    private val modifier by argument("modifier", help = "The attribute modifier; 0 without it")
        .convert {
            int(it)
        }.default(0)

    override fun help(context: Context) = "Show the bytes of an attribute of subnet management."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool smpdump -D 0,1 16
          ibtool smpdump -s 3 0x10
          ibtool smpdump 3 0x15 2
        """.trimIndent()

    override suspend fun execute(session: Session) {
        val target = session.target(address)
        var status = 0
        val bytes =
            try {
                RawAttribute.get(session.fabric, target.path, attribute, modifier)
            } catch (e: MadStatusException) {
                status = e.status
                e.reply?.copyOfRange(DATA, DATA + SIZE) ?: ByteArray(SIZE)
            }
        when {
            options.json -> {
                print(
                    buildJsonObject {
                        put("status", status)
                        put("data", bytes.toHexString())
                    },
                )
            }

            isText -> {
                line(
                    bytes
                        .takeWhile { it != 0.toByte() }
                        .map {
                            if (it in
                                0x20..0x7e
                            ) {
                                it.toInt().toChar()
                            } else {
                                ' '
                            }
                        }.joinToString(""),
                )
            }

            else -> {
                bytes.toHexString().chunked(2 * ROW).forEach { row -> line(row.chunked(4).joinToString(" ")) }
            }
        }
        // The answers of a directed path have a bit for their direction in the status.
        val shown = if (target.path is DirectedPath) status or ANSWER else status
        if (shown != 0 && !options.json) line("SMP status: 0x${hex(shown)}")
    }

    private companion object {
        private const val ANSWER = 0x8000
        private const val DATA = 64
        private const val SIZE = 64
        private const val ROW = 16
    }
}
