package org.kverbs.ibtool.records

/**
 * What `saquery` says of nodes in a line each.
 *
 * @property help what it is
 */
internal enum class NodeAnswer(
    val help: String,
    vararg val names: String,
) {
    LIDS("Show the LIDs of the node with this name", "-L"),
    LID("Show the first LID of the node with this name", "-l"),
    GUIDS("Show the port GUIDs of the node with this name", "-G"),
    NAME_OF_LID("Show the name of the node with this LID", "-O"),
    NAME_OF_GUID("Show the name of the node with this port GUID", "-U"),
    LIST("Show the LIDs and names of all adapters", "--list", "-D"),
}
