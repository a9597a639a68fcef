package org.kverbs.ibtool.fabric

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.ProgramResult
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.convert
import com.github.ajalt.clikt.parameters.arguments.optional
import org.kverbs.ibtool.session.Session
import java.nio.file.Path

/** `subnet_diff`: what is different between two saved topologies, or between a saved one and the fabric. */
internal class SubnetDiffCommand : DiscoveringCommand("subnet_diff", "DGKLs") {
    private val older by argument("older", help = "A topology that ibdiscover or ibnetdiscover --cache saved")
        .convert { Path.of(it) }
    private val newer by argument("newer", help = "A newer one; the fabric as it is now without it")
        .convert { Path.of(it) }
        .optional()

    override fun help(context: Context) =
        """
        Show what is different between two saved topologies, or between a saved one and the fabric.

        A line begins with - for what is gone, + for what is new, and ~ for what changed. The exit status is 1 if
        something is different, and 0 otherwise.
        """.trimIndent()

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool subnet_diff yesterday
          ibtool subnet_diff yesterday today
          ibtool subnet_diff yesterday --json | jq '.removedLinks'
        """.trimIndent()

    override suspend fun execute(session: Session) {
        if (newer != null) refuseTopology("two files are compared, and no fabric is looked at")
        val before = load(older)
        val after = newer?.let(::load) ?: subnet(session)
        val diff = before.changesTo(after)
        when {
            options.json -> print(SubnetDiffJson(session.names).of(diff))
            !diff.isEmpty -> line("$diff")
        }
        if (!diff.isEmpty) throw ProgramResult(1)
    }
}
