package org.kverbs.management.transaction

import org.kverbs.RdmaException
import org.kverbs.management.path.MadPath
import java.util.concurrent.CopyOnWriteArrayList

/**
 * A transaction with a fabric failed.
 *
 * The layers above add what they were about with [within], so that a program can show more than the last request.
 *
 * @property request the datagram that was sent; a copy. `describe` prints it in one line.
 * @property reply the last answer, or null if none came
 * @property path where the request went
 */
public abstract class MadException internal constructor(
    message: String,
    public val request: ByteArray,
    public val reply: ByteArray?,
    public val path: MadPath,
    rpc: String,
) : RdmaException(message) {
    private val stack = CopyOnWriteArrayList(listOf(rpc))

    /** What failed, lowest layer first. */
    public val messages: List<String> get() = stack.toList()

    /** Adds what a layer above was about, and returns this exception. */
    public fun within(message: String): MadException {
        stack += message
        return this
    }

    /**
     * Returns what failed in lines for a person, highest layer first.
     *
     * ```
     * E: Failed getting MAD path record for end port GID('fe80::2:c903:0:1492').
     * E: +RPC MAD_METHOD_GET(1) SAFormat(3.2) SAPathRecord(53) got class specific error 3
     * ```
     *
     * @param level 0 for the highest layer alone, 1 for all layers, 2 for the path, the request and the reply, too
     * @param prefix what each line begins with
     */
    public fun dumpDetailed(
        level: Int = 1,
        prefix: String = "E:",
    ): String {
        val layers = messages.reversed().mapIndexed { depth, text -> if (depth == 0) text else "+$text" }
        val lines = if (level <= 0) layers.take(1) else layers
        val decoded =
            if (level < 2) {
                emptyList()
            } else {
                listOf("Path: $path", "Request:") + MadText.decoded(request) +
                    (reply?.let { listOf("Reply:") + MadText.decoded(it) } ?: listOf("No reply"))
            }
        return (lines + decoded).joinToString("") { "$prefix $it\n" }
    }
}
