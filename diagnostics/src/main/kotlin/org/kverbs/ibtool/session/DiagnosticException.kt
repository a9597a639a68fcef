package org.kverbs.ibtool.session

/**
 * Ends a command with a sentence on standard error.
 *
 * @property status the exit status of the program
 */
internal class DiagnosticException(
    message: String,
    val status: Int = FAILED,
    cause: Exception? = null,
) : RuntimeException(message, cause) {
    companion object {
        /** What infiniband-diags' programs return when they give up. */
        const val FAILED = 255

        /** The command line is wrong. */
        const val USAGE = 2
    }
}
