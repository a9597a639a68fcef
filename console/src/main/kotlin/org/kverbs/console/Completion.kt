package org.kverbs.console

import com.github.ajalt.clikt.completion.CompletionCommand
import com.github.ajalt.clikt.core.CoreCliktCommand

/** The name of the command. */
internal const val COMPLETION = "completion"

/**
 * Returns the command that prints the completion of the Tab key for bash, zsh or fish.
 *
 * @param program the name of the program whose words are completed
 */
public fun completion(program: String): CoreCliktCommand =
    CompletionCommand(
        name = COMPLETION,
        help = "Print the completion of a shell's Tab key for $program.",
        epilog =
            """
            Examples:
              $program completion bash > ~/.local/share/bash-completion/completions/$program
              $program completion fish > ~/.config/fish/completions/$program.fish
              source <($program completion bash)
            """.trimIndent(),
    )
