package org.kverbs.management.path

/**
 * Where a management datagram goes: over given ports ([DirectedPath]), or to a local identifier ([LidPath]).
 *
 * `toString` prints a path, and [parse] reads what was printed.
 */
public sealed interface MadPath {
    /** Reads paths from text. */
    public companion object {
        /**
         * Reads a path from text, which need not be trusted:
         *
         * - `0,1,4`: a directed path, by the port that leaves each node
         * - `DR Path (0, 1, 4)`: the same, as [DirectedPath] prints it
         * - `12` or `0xc`: a LID
         * - `Path 8 -> 9 SL=0 PKey=0xffff DQPN=1`: as [LidPath] prints it
         * - `dlid=9 sl=3 dgid=fe80::2`: fields in any order, as [LidPath.toText] has them
         *
         * A GID or a port GUID needs the subnet administrator: `Fabric.resolve` takes these, too.
         *
         * @throws IllegalArgumentException if [text] is none of these; the message says what is wrong
         */
        public fun parse(text: String): MadPath = PathText.parse(text)
    }
}
