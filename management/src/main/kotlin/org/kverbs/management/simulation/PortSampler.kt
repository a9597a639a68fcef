package org.kverbs.management.simulation

import org.kverbs.management.structures.PortSamplesControl
import org.kverbs.management.structures.PortSamplesCounterSelect
import org.kverbs.management.structures.PortSamplesResult
import org.kverbs.management.structures.PortSamplesResultExtended
import kotlin.time.Duration
import kotlin.time.Duration.Companion.nanoseconds

private const val AT = Mads.DATA
private const val COUNTERS = 15
private const val DONE = 0
private const val NOT_STARTED = 1
private const val RUNNING = 2

/**
 * Samples of counters: a manager names up to 15 counters of a port, and how long they are counted (IBA 16.1.3.2). A
 * switch has one sampler, and so has each port of an adapter. A tick lasts 4 ns here, a symbol's time at 2.5 Gb/s.
 */
internal class PortSampler(
    private val network: Network,
    /** Does something later, with the exchange's lock held. */
    private val later: (Duration, () -> Unit) -> Unit,
) {
    private class Sample(
        val port: Int,
        val control: ByteArray,
    ) {
        var status = DONE
        val before = LongArray(COUNTERS)
        val counted = LongArray(COUNTERS)
        val wanted: PortSamplesControl get() = PortSamplesControl.at(control)
    }

    private val samples = HashMap<Int, Sample>()

    /** Serves PortSamplesControl at an end port. While a sample runs, a request changes nothing. */
    fun control(
        end: Int,
        mad: ByteArray,
        isSet: Boolean,
    ): Int {
        val topology = network.topology
        val port = topology.port(topology.nodeOf(end), PortSamplesControl.at(mad, AT).portSelect)
        val isOfOther = !topology.isSwitch(topology.nodeOf(end)) && port != end
        if (port == Topology.NONE || isOfOther || Mads.modifier(mad) != 0) return Mads.INVALID_FIELD
        if (isSet && isDone(end)) begin(end, Sample(port, mad.copyOfRange(AT, AT + PortSamplesControl.byteSize)))
        val sample = samples[end]
        mad.fill(0, AT, AT + PortSamplesControl.byteSize)
        sample?.control?.copyInto(mad, AT)
        PortSamplesControl.at(mad, AT).apply {
            portSelect = topology.numberOf(sample?.port ?: port)
            tick = 0
            counterWidth = FULL_WIDTH
            counterMask0 = ALL_COUNTERS
            repeat(counterMasks1to9.size) { counterMasks1to9[it] = ALL_COUNTERS }
            repeat(counterMasks10to14.size) { counterMasks10to14[it] = ALL_COUNTERS }
            sampleMechanisms = 1
            sampleStatus = sample?.status ?: DONE
        }
        return 0
    }

    private fun isDone(end: Int) = (samples[end]?.status ?: DONE) == DONE

    private fun begin(
        end: Int,
        sample: Sample,
    ) {
        samples[end] = sample
        sample.status = NOT_STARTED
        later(TICK * sample.wanted.sampleStart.toDouble()) {
            sample.status = RUNNING
            read(sample).copyInto(sample.before)
            later(TICK * sample.wanted.sampleInterval.toDouble()) {
                read(sample).forEachIndexed { at, value -> sample.counted[at] = value - sample.before[at] }
                sample.status = DONE
            }
        }
    }

    private fun read(sample: Sample): LongArray {
        val image = network.counters.image(sample.port)
        return LongArray(COUNTERS) { index ->
            val at = SAMPLED[sample.wanted.counterSelect[index]]
            if (at == null) 0 else Wire.u64(image, at)
        }
    }

    /** Serves the results: counters of 32 bits, which stop at their highest value, or of 64. */
    fun result(
        end: Int,
        mad: ByteArray,
        isExtended: Boolean,
    ): Int {
        if (Mads.modifier(mad) != 0) return Mads.INVALID_FIELD
        val sample = samples[end]
        mad.fill(0, AT, mad.size)
        if (isExtended) {
            PortSamplesResultExtended.at(mad, AT).apply {
                tag = sample?.wanted?.tag ?: 0
                sampleStatus = sample?.status ?: DONE
                extendedWidth = EXTENDED_WIDTH
                repeat(COUNTERS) { counter[it] = sample?.counted?.get(it) ?: 0 }
            }
        } else {
            PortSamplesResult.at(mad, AT).apply {
                tag = sample?.wanted?.tag ?: 0
                sampleStatus = sample?.status ?: DONE
                repeat(COUNTERS) { counter[it] = minOf(sample?.counted?.get(it) ?: 0, MOST) }
            }
        }
        return 0
    }

    private companion object {
        val TICK = 4.nanoseconds

        /** Counters of 32 bits, and of 64. */
        const val FULL_WIDTH = 4
        const val EXTENDED_WIDTH = 2
        const val ALL_COUNTERS = 1
        const val MOST = 0xffffffffL
        private const val XMIT_WAIT_AT = 168

        /** Where the counters are that can be sampled. */
        val SAMPLED =
            mapOf(
                PortSamplesCounterSelect.PORT_XMIT_DATA to Counters.XMIT_DATA,
                PortSamplesCounterSelect.PORT_RCV_DATA to Counters.RCV_DATA,
                PortSamplesCounterSelect.PORT_XMIT_PKTS to Counters.XMIT_PACKETS,
                PortSamplesCounterSelect.PORT_RCV_PKTS to Counters.RCV_PACKETS,
                PortSamplesCounterSelect.PORT_XMIT_WAIT to XMIT_WAIT_AT,
            )
    }
}
