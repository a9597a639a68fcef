package org.kverbs.ibtool.health

/**
 * How bad something is, as the plugins of Nagios have it.
 *
 * @property status the exit status
 */
internal enum class Severity(
    val status: Int,
) {
    OK(0),
    WARNING(1),
    CRITICAL(2),
}
