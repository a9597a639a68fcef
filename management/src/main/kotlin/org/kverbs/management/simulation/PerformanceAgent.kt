package org.kverbs.management.simulation

import org.kverbs.management.structures.ClassPortInfo
import org.kverbs.management.structures.PortExtendedSpeedsCounters
import org.kverbs.management.structures.PortExtendedSpeedsCountersRSFEC
import org.kverbs.management.structures.PortFlowCtlCounters
import org.kverbs.management.structures.PortOpRcvCounters
import org.kverbs.management.structures.PortRcvConCtrl
import org.kverbs.management.structures.PortRcvDataSL
import org.kverbs.management.structures.PortRcvErrorDetails
import org.kverbs.management.structures.PortSLRcvBECN
import org.kverbs.management.structures.PortSLRcvFECN
import org.kverbs.management.structures.PortVLOpData
import org.kverbs.management.structures.PortVLOpPackets
import org.kverbs.management.structures.PortVLXmitFlowCtlUpdateErrors
import org.kverbs.management.structures.PortVLXmitTimeCong
import org.kverbs.management.structures.PortVLXmitWaitCounters
import org.kverbs.management.structures.PortXmitConCtrl
import org.kverbs.management.structures.PortXmitDataSL
import org.kverbs.management.structures.PortXmitDiscardDetails
import org.kverbs.management.structures.SwPortVLCongestion
import org.kverbs.structures.StructureType
import kotlin.time.Duration

private const val CLASS_PORT_INFO = 1
private const val SAMPLES_CONTROL = 0x10
private const val SAMPLES_RESULT = 0x11
private const val SAMPLES_RESULT_EXTENDED = 0x1e
private const val PORT_COUNTERS = 0x12
private const val PORT_COUNTERS_EXTENDED = 0x1d
private const val AT = Mads.DATA
private const val ALL_PORTS = 0xff
private const val PORT_SELECT_AT = 1

/** The performance management agents of all nodes: they read and reset counters. */
internal class PerformanceAgent(
    private val network: Network,
    later: (Duration, () -> Unit) -> Unit,
) {
    private val topology = network.topology
    private val others = HashMap<Long, ByteArray>()
    private val extended = ExtendedCounters(network)
    private val sampler = PortSampler(network, later)

    fun answer(
        port: Int,
        mad: ByteArray,
    ) {
        val method = Mads.method(mad)
        val status =
            when {
                Mads.classVersion(mad) != 1 || Mads.baseVersion(mad) != 1 -> Mads.VERSION_UNSUPPORTED
                method != Mads.GET && method != Mads.SET -> Mads.METHOD_UNSUPPORTED
                Mads.attribute(mad) == CLASS_PORT_INFO -> classPortInfo(port, method, mad)
                Mads.attribute(mad) in SAMPLES -> samples(port, mad, method == Mads.SET)
                else -> counters(port, mad, method == Mads.SET)
            }
        Mads.answer(mad, status)
    }

    private fun classPortInfo(
        port: Int,
        method: Int,
        mad: ByteArray,
    ): Int {
        if (method != Mads.GET) return Mads.ATTRIBUTE_UNSUPPORTED
        mad.fill(0, AT, AT + ClassPortInfo.byteSize)
        ClassPortInfo.at(mad, AT).apply {
            baseVersion = 1
            classVersion = 1
            val isSwitch = topology.isSwitch(topology.nodeOf(port))
            capabilityMask = EXTENDED_WIDTH or XMIT_WAIT or if (isSwitch) ALL_PORT_SELECT else 0
            respTimeValue = RESPONSE_TIME
        }
        return 0
    }

    private fun counters(
        arrival: Int,
        mad: ByteArray,
        resets: Boolean,
    ): Int {
        val selected = Wire.u8(mad, AT + PORT_SELECT_AT)
        val node = topology.nodeOf(arrival)
        val isSwitch = topology.isSwitch(node)
        val isWrong =
            if (isSwitch) {
                selected > topology.node(node).ports && selected != ALL_PORTS
            } else {
                selected != topology.numberOf(arrival)
            }
        if (isWrong) return Mads.INVALID_FIELD
        val ports =
            if (selected == ALL_PORTS && isSwitch) {
                (0..topology.node(node).ports).map { topology.port(node, it) }
            } else {
                listOf(topology.port(node, selected))
            }
        return when (val attribute = Mads.attribute(mad)) {
            PORT_COUNTERS -> 0.also { extended.short(ports, mad, resets) }
            PORT_COUNTERS_EXTENDED -> 0.also { extended.long(ports, mad, resets) }
            else -> others(attribute, ports, mad, resets)
        }
    }

    private fun samples(
        arrival: Int,
        mad: ByteArray,
        isSet: Boolean,
    ): Int {
        val end = network.endPort(arrival)
        val attribute = Mads.attribute(mad)
        return when {
            attribute == SAMPLES_CONTROL -> sampler.control(end, mad, isSet)
            isSet -> Mads.ATTRIBUTE_UNSUPPORTED
            else -> sampler.result(end, mad, attribute == SAMPLES_RESULT_EXTENDED)
        }
    }

    private fun others(
        attribute: Int,
        ports: List<Int>,
        mad: ByteArray,
        resets: Boolean,
    ): Int {
        val counters = SIMPLE[attribute] ?: return Mads.ATTRIBUTE_UNSUPPORTED
        if (resets) {
            val mask = counters.selected(mad, AT)
            ports.forEach { port -> others[key(port, attribute)]?.let { counters.reset(it, mask) } }
        }
        counters.clear(mad, AT)
        ports.forEach { port -> others[key(port, attribute)]?.let { counters.add(it, mad, AT) } }
        return 0
    }

    /** The counters of an attribute at a port, which a test can write. */
    fun image(
        type: StructureType<*>,
        port: Int,
    ): ByteArray {
        val attribute = checkNotNull(type.attributeId).takeIf { type in TYPES }
        requireNotNull(attribute) { "$type has no counters here; give one of ${TYPES.joinToString()}" }
        return others.getOrPut(key(port, attribute)) { ByteArray(SIMPLE.getValue(attribute).size) }
    }

    private fun key(
        port: Int,
        attribute: Int,
    ) = port.toLong() shl 16 or attribute.toLong()

    private companion object {
        val SAMPLES = setOf(SAMPLES_CONTROL, SAMPLES_RESULT, SAMPLES_RESULT_EXTENDED)
        const val ALL_PORT_SELECT = 0x100
        const val EXTENDED_WIDTH = 0x200
        const val XMIT_WAIT = 0x1000
        const val RESPONSE_TIME = 0x12

        /** Attributes of which one bit of the selection stands for one counter. */
        val TYPES: List<StructureType<*>> =
            listOf(
                PortRcvErrorDetails,
                PortXmitDiscardDetails,
                PortOpRcvCounters,
                PortFlowCtlCounters,
                PortVLOpPackets,
                PortVLOpData,
                PortVLXmitFlowCtlUpdateErrors,
                PortVLXmitWaitCounters,
                PortExtendedSpeedsCounters,
                PortExtendedSpeedsCountersRSFEC,
                SwPortVLCongestion,
                PortRcvConCtrl,
                PortSLRcvFECN,
                PortSLRcvBECN,
                PortXmitConCtrl,
                PortVLXmitTimeCong,
                PortXmitDataSL,
                PortRcvDataSL,
            )

        /**
         * The counters of an attribute, which can have two structures. They read the descriptions of all structures,
         * which takes a program that starts a third of its time.
         */
        val SIMPLE: Map<Int, SimpleCounters> by lazy {
            TYPES.groupBy { checkNotNull(it.attributeId) }.mapValues { (_, types) -> SimpleCounters(types) }
        }
    }
}
