package org.kverbs.ibtool.routes

/**
 * What `check_lft_balance` reads in the text of `dump_lfts` about one switch.
 *
 * @property guid the GUID with 0x, as the text has it
 * @property counts how many LIDs go out by each port
 * @property lidsPerPort how many LIDs a host's port has
 * @property hosts the hosts all LIDs of which go out by one port
 */
internal class ForwardingUse(
    val guid: String,
    val name: String,
    val counts: Map<Int, Int>,
    val lidsPerPort: Int,
    val hosts: List<String>,
) {
    /** Takes in the lines of one switch, and of the next ones. */
    private class Reader {
        val all = ArrayList<ForwardingUse>()
        private var guid = ""
        private var name: String? = null
        private var host = ""
        private val counts = HashMap<Int, Int>()
        private val hostPorts = ArrayList<Int>()
        private val hosts = ArrayList<String>()
        private var lidsPerPort = 0
        private var isLmcKnown = false

        fun take(line: String) {
            val head = heads.matchEntire(line)
            when {
                head != null -> {
                    finish()
                    guid = head.groupValues[1]
                    name = head.groupValues[2]
                }

                "Channel" in line || "Router" in line -> {
                    host(line)
                }

                "path" in line -> {
                    further(line)
                }

                lidsPerPort > 0 -> {
                    isLmcKnown = true
                }
            }
        }

        private fun host(line: String) {
            val (port, text) = plain(line) ?: sought(line) ?: return
            host = text
            count(port)
            endHost()
            hostPorts += port
            if (lidsPerPort == 0) lidsPerPort = 1 else isLmcKnown = true
        }

        private fun sought(line: String): Pair<Int, String>? =
            destinations.find(line)?.destructured?.let { (port, text) -> port.toInt() to text }

        /** The same for most lines, without a search back and forth: a large fabric has millions of them. */
        private fun plain(line: String): Pair<Int, String>? {
            val end = line.indexOf(MIDDLE)
            val name = line.lastIndexOf(": '") + 3
            val hasOne = end > 0 && line.indexOf(MIDDLE, end + 1) < 0 && line.indexOf(" portguid ", end) in 0..<name
            if (!hasOne || !line.endsWith("')") || line.length - 2 <= name) return null
            val port = line.substring(line.lastIndexOf(' ', end - 1) + 1, end).toIntOrNull() ?: return null
            return port to line.substring(name, line.length - 2)
        }

        private fun further(line: String) {
            val port = paths.find(line)?.groupValues?.get(1) ?: return
            count(port.toInt())
            if (!isLmcKnown) lidsPerPort++
            hostPorts += port.toInt()
        }

        private fun count(port: Int) {
            counts.merge(port, 1, Int::plus)
        }

        /** infiniband-diags takes the next host's name here. That changes little: it asks whether there is one. */
        private fun endHost() {
            if (hostPorts.isNotEmpty() && hostPorts.size == lidsPerPort && hostPorts.distinct().size == 1) hosts += host
            hostPorts.clear()
        }

        fun finish() {
            endHost()
            name?.let { all += ForwardingUse(guid, it, HashMap(counts), lidsPerPort, hosts.toList()) }
            counts.clear()
            hosts.clear()
            lidsPerPort = 0
            isLmcKnown = false
        }
    }

    companion object {
        private const val MIDDLE = " : ("
        private val heads = Regex("Unicast lids .+ of switch (?:DR path slid|Lid) .+ guid (.+) \\((.+)\\).*")
        private val destinations = Regex(".+ (\\d+) : \\(.+ portguid .+: '(.+)'\\)")
        private val paths = Regex(".+ (\\d+) : \\(path #\\d+ out of \\d+: portguid .+\\)")

        /** Reads what `dump_lfts` prints. */
        fun read(lines: Sequence<String>): List<ForwardingUse> {
            val reader = Reader()
            lines.forEach(reader::take)
            reader.finish()
            return reader.all
        }
    }
}
