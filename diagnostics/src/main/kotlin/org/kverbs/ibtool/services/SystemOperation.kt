package org.kverbs.ibtool.services

/** What `ibsysstat` asks for. */
internal enum class SystemOperation {
    PING,
    HOST,
    CPU,
    ;

    /** The word of the command line. */
    val word: String get() = name.lowercase()
}
