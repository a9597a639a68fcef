package org.kverbs.management.simulation

/** Writes a fabric as a net file, which ibsim and this simulator read. */
internal object NetFileWriter {
    fun write(network: Network): String =
        buildString {
            val topology = network.topology
            for (node in 0 until topology.size) {
                val spec = topology.node(node)
                append("vendid=0x${hex(spec.vendor.toLong())}\ndevid=0x${hex(spec.device.toLong())}\n")
                append("sysimgguid=0x${hex(spec.systemGuid ?: network.nodeGuid(node))}\n")
                append(guidOf(spec.kind)).append("=0x${hex(network.nodeGuid(node))}\n")
                append("${nameOf(spec.kind)}\t${spec.ports} \"${spec.id}\"\t\t# \"${spec.description}\"")
                if (spec.kind == Kind.SWITCH) {
                    val port = if (spec.hasEnhancedPort) "enhanced" else "base"
                    append(" $port port 0 lid ${network.lid(topology.port(node, 0))} lmc 0")
                }
                append('\n')
                for (number in 1..spec.ports) port(network, topology.port(node, number))
                append('\n')
            }
        }

    private fun StringBuilder.port(
        network: Network,
        port: Int,
    ) {
        val topology = network.topology
        val peer = topology.peer(port)
        if (peer == Topology.NONE) return
        val far = topology.specOf(peer)
        append("[${topology.numberOf(port)}]\t\"${far.id}\"[${topology.numberOf(peer)}]")
        append(options(topology.rate(port)))
        append("\t\t# ")
        if (topology.specOf(port).kind != Kind.SWITCH) append("lid ${network.lid(port)} lmc ${network.lmc(port)} ")
        append("\"${far.description}\" lid ${network.lid(network.endPort(peer))}")
        speed(topology.rate(port))?.let { append(" $it") }
        append('\n')
    }

    /** `4xQDR`, if that says all. */
    private fun speed(rate: LinkRate): String? {
        val lanes = listOf(1, 2, 4, 8, 12).firstOrNull { LinkRate.widthsOf(it) == rate.width } ?: return null
        val speed = SimulatedSpeed.entries.firstOrNull { rate.withSpeed(it) == rate } ?: return null
        return "${lanes}x${speed.text}"
    }

    private fun options(rate: LinkRate): String =
        if (speed(rate) != null) "" else " w=${rate.width} s=${rate.speed} e=${rate.extended}"

    private fun nameOf(kind: Int) =
        when (kind) {
            Kind.SWITCH -> "Switch"
            Kind.ROUTER -> "Rt"
            else -> "Ca"
        }

    private fun guidOf(kind: Int) =
        when (kind) {
            Kind.SWITCH -> "switchguid"
            Kind.ROUTER -> "rtguid"
            else -> "caguid"
        }

    private fun hex(value: Long) = value.toULong().toString(16)
}
