package org.kverbs.management.simulation

import org.kverbs.management.transport.MAD_SIZE

private const val OK = 0
private const val AT = Mads.DATA

/**
 * The subnet management agents of all nodes: they answer SMPs. Where ibsim and the specification differ, this is the
 * specification's side.
 */
internal class SubnetAgent(
    private val network: Network,
) {
    private val topology = network.topology
    private val ports = PortSettings(network)
    private val switches = SwitchAttributes(network)
    private val tables = TableAttributes(network)

    /** Whether the agents know the attribute. Others go to programs at the port. */
    fun knows(attribute: Int): Boolean = attribute in KNOWN

    /** Makes the request its answer. False for a request that gets none: its management key is wrong. */
    fun answer(
        port: Int,
        mad: ByteArray,
    ): Boolean {
        val method = Mads.method(mad)
        val key = KeyCheck(network, port, mad)
        if (!key.passes(method)) return false
        val status =
            when {
                Mads.classVersion(mad) != 1 || Mads.baseVersion(mad) != 1 -> Mads.VERSION_UNSUPPORTED
                method == Mads.GET || method == Mads.SET -> serve(port, mad, method == Mads.SET, key.hidesKey)
                else -> Mads.METHOD_UNSUPPORTED
            }
        Mads.answer(mad, status)
        return true
    }

    /** The answer of the agent at a port to a manager with the right key; null for a refusal. */
    fun read(
        port: Int,
        attribute: Int,
        modifier: Int,
    ): ByteArray? {
        val mad = ByteArray(MAD_SIZE)
        Mads.setAttribute(mad, attribute)
        Mads.setModifier(mad, modifier)
        return mad.takeIf { serve(port, it, isSet = false, hidesKey = false) == OK }
    }

    private fun serve(
        port: Int,
        mad: ByteArray,
        isSet: Boolean,
        hidesKey: Boolean,
    ): Int {
        val attribute = Mads.attribute(mad)
        return when {
            attribute == Smps.PORT_INFO -> if (isSet) ports.set(port, mad) else ports.get(port, mad, hidesKey)
            attribute in SwitchAttributes.KNOWN -> switches.serve(port, mad, isSet)
            attribute in TableAttributes.KNOWN -> tables.serve(port, mad, isSet)
            attribute == Smps.NODE_DESCRIPTION -> description(port, mad, isSet)
            attribute == Smps.GUID_INFO -> guids(port, mad, isSet)
            isSet -> Mads.ATTRIBUTE_UNSUPPORTED
            attribute == Smps.NODE_INFO -> OK.also { Identity.write(network, port, mad, AT) }
            else -> Mads.ATTRIBUTE_UNSUPPORTED
        }
    }

    /** What is set is kept as long as the node has power. */
    private fun description(
        port: Int,
        mad: ByteArray,
        isSet: Boolean,
    ): Int {
        val end = topology.port(topology.nodeOf(port), 0)
        if (isSet) network.kept.set(end, DESCRIPTION, 0, mad.copyOfRange(AT, AT + Mads.DATA_SIZE))
        val text =
            network.kept.find(end, DESCRIPTION, 0) ?: topology.specOf(port).description.encodeToByteArray()
        mad.fill(0, AT, AT + Mads.DATA_SIZE)
        text.copyInto(mad, AT, 0, minOf(text.size, Mads.DATA_SIZE))
        return OK
    }

    /** The first GUID is the port's own, and stays (IBA 14.2.5.5). The others are as a manager has set them. */
    private fun guids(
        port: Int,
        mad: ByteArray,
        isSet: Boolean,
    ): Int {
        val end = network.endPort(port)
        val block = Mads.modifier(mad)
        val blocks = maxOf(1, (network.guidCapacity(end) + GUIDS - 1) / GUIDS)
        if (block !in
            0 until blocks
        ) {
            return if (isSet) Mads.INVALID_FIELD else OK.also { mad.fill(0, AT, AT + Mads.DATA_SIZE) }
        }
        if (isSet) network.kept.set(end, FURTHER_GUIDS, block, mad.copyOfRange(AT, AT + Mads.DATA_SIZE))
        mad.fill(0, AT, AT + Mads.DATA_SIZE)
        network.kept.find(end, FURTHER_GUIDS, block)?.copyInto(mad, AT)
        if (block == 0) Wire.put64(mad, AT, network.portGuid(end))
        val most = network.guidCapacity(end) - block * GUIDS
        if (most < GUIDS) mad.fill(0, AT + maxOf(most, if (block == 0) 1 else 0) * Long.SIZE_BYTES, AT + Mads.DATA_SIZE)
        return OK
    }

    private companion object {
        /** What is kept is told from what is kept of other classes. */
        const val DESCRIPTION = 0x10000 or Smps.NODE_DESCRIPTION
        const val FURTHER_GUIDS = 0x10000 or Smps.GUID_INFO

        /** GUIDs in a block. */
        const val GUIDS = 8
        val KNOWN =
            SwitchAttributes.KNOWN + TableAttributes.KNOWN +
                setOf(Smps.NODE_DESCRIPTION, Smps.NODE_INFO, Smps.GUID_INFO, Smps.PORT_INFO)
    }
}
