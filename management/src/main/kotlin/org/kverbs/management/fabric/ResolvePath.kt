package org.kverbs.management.fabric

import org.kverbs.attributes.Gid
import org.kverbs.management.path.MadPath
import org.kverbs.structures.Guid

private const val LINK_LOCAL = 0xfe80L shl 48
private const val MAX_LENGTH = 1000
private val guids = Regex("\\p{XDigit}{1,4}(:\\p{XDigit}{1,4}){3}|(0x)?\\p{XDigit}{16}")
private val scope = Regex("[\\w.-]{1,64}/\\d{1,3}")

/**
 * Returns the path to a port from text, which need not be trusted. Beside the forms of [MadPath.parse] it takes those
 * for which it asks the subnet administrator:
 *
 * - a GID such as `fe80::2:c903:0:1492`
 * - `GID%mlx5_0/1`: the same, if this fabric is behind that port
 * - a port GUID, as four groups such as `0002:c903:0000:1492` or as 16 digits, in this port's subnet
 *
 * @throws IllegalArgumentException if [text] is none of these, or names another port of this machine; the message says
 *   what is wrong
 * @throws org.kverbs.management.sa.SaPathNotFoundException if the administrator knows no path there
 * @throws org.kverbs.management.transaction.MadException if the administrator does not answer, or with another error
 */
public suspend fun Fabric.resolve(text: String): MadPath {
    require(text.length <= MAX_LENGTH) { "a path has at most $MAX_LENGTH characters, not ${text.length}" }
    val address = text.substringBefore('%')
    if ('%' in text) requireScope(text.substringAfter('%'))
    return when {
        guids.matches(address) -> sa.path(Gid(prefix(), Guid.parse(address).value)).path
        '%' in text || (':' in address && '=' !in address) -> sa.path(Gid.parse(address)).path
        else -> parse(text)
    }
}

private fun parse(text: String): MadPath =
    try {
        MadPath.parse(text)
    } catch (e: IllegalArgumentException) {
        throw IllegalArgumentException("${e.message}; a port's GID or GUID is a path, too", e)
    }

private fun Fabric.prefix(): Long = port().info.gidPrefix.takeIf { it != 0L } ?: LINK_LOCAL

private fun Fabric.requireScope(text: String) {
    require(scope.matches(text)) { "behind % a path names a port of this machine, such as mlx5_0/1" }
    val here = port().let { "${it.name}/${it.node.localPortNum}" }
    require(text == here) { "the path begins at $text, and this fabric is behind $here" }
}
