package org.kverbs.management.transaction

import org.kverbs.management.path.MadPath

/**
 * The answer has a status that only its management class knows, such as "no records" of subnet administration.
 *
 * @property status the status of the answer, 15 bits
 * @property classStatus the part of the status that belongs to the class
 */
public class MadClassException internal constructor(
    request: ByteArray,
    reply: ByteArray,
    path: MadPath,
    public val status: Int,
) : MadException(
        "$path answered ${MadText.of(request)} with the class status ${MadText.ofClass(request, status)}",
        request,
        reply,
        path,
        "RPC ${MadText.of(request)} got class specific error ${MadText.classStatus(status)}",
    ) {
    public val classStatus: Int get() = MadText.classStatus(status)

    /** The status by its name, if the class is subnet administration; else its number. */
    public val statusName: String get() = MadText.ofClass(request, status)
}
