package org.kverbs.cli

import com.github.ajalt.clikt.core.CliktError
import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.multiple

/** `kverbs lab`, which the launcher of a checkout runs itself: here it is only explained. */
internal class LabCommand : CoreCliktCommand("lab") {
    private val command by argument("COMMAND", help = "A command of the shell, in one word").multiple()

    init {
        configureContext { allowInterspersedArgs = false }
    }

    override fun help(context: Context) = "Run a command in a virtual machine that has RDMA devices."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ./kverbs lab './kverbs devices'             Soft-RoCE (rxe0, rxe1, rxe2) and soft-iWARP (siw0)
          ./kverbs lab './kverbs pingpong -d rxe0'
          ./kverbs lab --help                         all of it

        The lab is part of the sources: it needs a checkout, Debian's QEMU and kernel, and no KVM.
        """.trimIndent()

    override fun run(): Unit =
        throw CliktError(
            "kverbs: the lab is part of the sources, and this is kverbs without them: in a checkout, run " +
                "./kverbs lab '${command.joinToString(" ")}'",
        )
}
