package org.kverbs.ibtool

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.CoreCliktCommand
import org.kverbs.console.offer

/**
 * `ibtool` itself: the list of its commands.
 *
 * @param only the one command that is called, if it is known. The others are not made then.
 */
internal class IbToolCommand(
    only: String? = null,
) : CoreCliktCommand("ibtool") {
    init {
        offer(Commands.groups, only, Commands::make)
    }

    override fun help(context: Context) =
        """
        InfiniBand diagnostics: the commands of infiniband-diags in one program.

        Each command takes --fabric FILE or --fabric GENERATOR, such as fat-tree:4, and runs on a simulated fabric
        then, without any hardware.

        ./ibtool ibv_devinfo is ./kverbs devinfo.
        """.trimIndent()

    override fun run() = Unit
}
