package org.kverbs.ibtool.congestion

import com.github.ajalt.clikt.parameters.options.convert
import com.github.ajalt.clikt.parameters.options.default
import com.github.ajalt.clikt.parameters.options.option
import org.kverbs.ibtool.session.DiagnosticCommand
import org.kverbs.ibtool.session.number
import org.kverbs.management.fabric.FabricBuilder

/** A command that asks for congestion control, whose requests carry a key. */
internal abstract class CongestionCommand(
    name: String,
) : DiagnosticCommand(name, "DK") {
    private val key by option("--cckey", "-c", metavar = "KEY", help = "The key of congestion control; 0 without it")
        .convert { number(it) }
        .default(0)

    final override fun FabricBuilder.configure(): Unit = ccKey(key)
}
