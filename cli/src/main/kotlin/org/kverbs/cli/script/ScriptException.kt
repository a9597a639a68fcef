package org.kverbs.cli.script

/**
 * A script that can't be compiled, or that threw.
 *
 * @param message each line names the script's file, with line and column where they are known
 * @param cause what the script threw
 */
class ScriptException internal constructor(
    override val message: String,
    cause: Throwable? = null,
) : Exception(message, cause)
