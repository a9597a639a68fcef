package org.kverbs.ibtool.counters

import org.kverbs.ibtool.session.Dotted
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.Target
import org.kverbs.management.structures.ClassPortInfo
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.PortCounters
import org.kverbs.management.structures.PortCountersExtended
import org.kverbs.structures.Structure

/** Asks a node for the counters of its ports, and resets them. */
internal class PortCountersQuery(
    private val session: Session,
    val target: Target,
) {
    private val fabric get() = session.fabric
    private lateinit var capabilities: ClassPortInfo

    /** What the node's performance management can do. */
    val mask: Int get() = capabilities.capabilityMask
    val mask2: Int get() = capabilities.capabilityMask2

    /** Whether the errors are in the 64-bit counters, too. */
    val hasWideErrors: Boolean get() = mask2 and ADDITIONAL != 0

    suspend fun begin() {
        capabilities = fabric.get<ClassPortInfo>(target.path, mgmtClass = ManagementClass.PERF)
    }

    /** The 32-bit counters. A counter that the port does not have is 0. */
    suspend fun plain(port: Int): PortCounters {
        val counters = fabric.get<PortCounters>(target.path) { portSelect = port }
        if (mask and XMIT_WAIT == 0) counters.portXmitWait = 0
        return seen(port, counters)
    }

    /** The 64-bit counters. */
    suspend fun extended(port: Int): PortCountersExtended =
        seen(port, fabric.get<PortCountersExtended>(target.path) { portSelect = port })

    /** Other counters. */
    suspend fun other(
        kind: CounterKind,
        port: Int,
    ): Structure = seen(port, kind.counters.get(fabric, target.path, port))

    private fun <S : Structure> seen(
        port: Int,
        counters: S,
    ): S {
        session.growth?.record("$target port $port ${counters.structureType.name}", counters)
        return counters
    }

    /** Sets the counters of [bits] to zero. */
    suspend fun reset(
        port: Int,
        bits: Long,
        isExtended: Boolean,
    ) {
        val select = if (bits == 0L) ALL else bits
        if (isExtended) {
            extendedCounters.set(fabric, target.path, port, select and 0xffff, select shr 16 and 0xffff)
        } else {
            plainCounters.set(fabric, target.path, port, select and 0xffff, select shr 16 and 0xff)
        }
    }

    /** Sets other counters to zero. */
    suspend fun reset(
        kind: CounterKind,
        port: Int,
        bits: Long,
    ) {
        val select = if (bits == 0L) ALL else bits
        kind.counters.set(fabric, target.path, port, if (kind == CounterKind.SPEEDS) select else select and 0xffff)
    }

    /** The lines of 32-bit counters. */
    fun text(counters: PortCounters): String = Dotted(counters).without()

    /** The lines of 64-bit counters that the node says it has. */
    fun text(counters: PortCountersExtended): String {
        val text = Dotted(counters)
        val names = text.names - "CounterSelect2"
        val data = names.take(DATA)
        val casts = names.drop(DATA).take(CASTS)
        val errors = listOf("CounterSelect2") + names.drop(DATA + CASTS)
        return text.text(data) + (if (mask and EXTENDED != 0) text.text(casts) else "") +
            if (mask2 and ADDITIONAL != 0) text.text(errors) else ""
    }

    companion object {
        private val plainCounters = PortAttribute(PortCounters)
        private val extendedCounters = PortAttribute(PortCountersExtended)
        private const val ALL = 0xffffffffL

        /** Bits of the capability mask. */
        const val ALL_PORTS = 0x100
        const val EXTENDED = 0x200
        const val EXTENDED_WITHOUT_CASTS = 0x400
        const val XMIT_WAIT = 0x1000
        const val QP1_DROP = 0x8000

        /** A bit of the second capability mask: errors of 64 bits. */
        const val ADDITIONAL = 0x2
        private const val DATA = 6
        private const val CASTS = 4
    }
}
