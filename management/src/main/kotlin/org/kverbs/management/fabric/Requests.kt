package org.kverbs.management.fabric

import org.kverbs.management.MadLayout
import org.kverbs.management.path.DirectedPath
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.CCFormat
import org.kverbs.management.structures.MADHeader
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.SMPFormat
import org.kverbs.management.structures.SMPFormatDirected
import org.kverbs.management.transport.MAD_SIZE
import org.kverbs.management.transport.ServedClass
import org.kverbs.structures.Attribute
import org.kverbs.structures.Lid
import org.kverbs.structures.RequestMethod
import org.kverbs.structures.Structure
import org.kverbs.structures.StructureType
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout
import java.nio.ByteBuffer
import java.util.concurrent.ConcurrentHashMap

private val DIRECTED = ManagementClass.SUBN_DIRECTED_ROUTE.value
private val BY_LID = ManagementClass.SUBN_LID_ROUTED.value
private val CONGESTION = ManagementClass.CONGESTION_CONTROL.value
private const val OUI_AT = 36
private val PERMISSIVE = Lid(0xffff)

/** A request, and where the attribute is in it and in its answer. */
internal class Request(
    val mad: ByteArray,
    val dataAt: Int,
)

/** Makes requests: the header, the path of a directed route, the attribute. */
internal class Requests(
    private val mKey: Long,
    private val ccKey: Long,
    private val vendor: Int?,
) {
    private val attributes = ConcurrentHashMap<Pair<StructureType<*>, RequestMethod>, List<Pair<Attribute, Int>>>()

    fun <S : Structure> request(
        type: StructureType<S>,
        method: RequestMethod,
        path: MadPath,
        modifier: Int,
        mgmtClass: ManagementClass?,
        value: S,
    ): Request {
        val (attribute, number) = attribute(type, method, path, mgmtClass)
        val mad = ByteArray(MAD_SIZE)
        MADHeader.at(mad).apply {
            baseVersion = 1
            this.mgmtClass = ManagementClass.of(number)
            classVersion = attribute.classVersion
            this.method = Method.of(method.code)
            attributeID = attribute.id
            attributeModifier = modifier.toLong() and 0xffffffffL
        }
        if (number in ServedClass.ofVendors) {
            ByteBuffer.wrap(mad).putInt(OUI_AT, vendor ?: ServedClass.vendorOf(ManagementClass.of(number)))
        }
        if (number == CONGESTION) CCFormat.at(mad).ccKey = ccKey
        if (number == BY_LID) SMPFormat.at(mad).mKey = mKey
        if (path is DirectedPath) route(mad, path)
        val dataAt = checkNotNull(MadLayout.dataAt(number, attribute.id)) { "the class $number has no layout" }
        val room = (MAD_SIZE - dataAt).toLong()
        require(hasZerosFrom(value.memory, room)) {
            "${type.name} has ${type.byteSize} bytes, and a request of ${ManagementClass.of(number)} has room for $room"
        }
        MemorySegment
            .ofArray(mad)
            .asSlice(dataAt.toLong())
            .copyFrom(value.memory.asSlice(0, minOf(room, value.memory.byteSize())))
        return Request(mad, dataAt)
    }

    /** An attribute that is longer than a datagram can be asked for, if the request needs none of what does not fit. */
    private fun hasZerosFrom(
        memory: MemorySegment,
        at: Long,
    ): Boolean = (at until memory.byteSize()).all { memory.get(ValueLayout.JAVA_BYTE, it) == 0.toByte() }

    private fun route(
        mad: ByteArray,
        path: DirectedPath,
    ) {
        SMPFormatDirected.at(mad).apply {
            mKey = this@Requests.mKey
            madHeader.hopCount = path.length
            drSLID = PERMISSIVE
            drDLID = PERMISSIVE
            path.hops.forEachIndexed { hop, port -> initialPath[hop] = port }
        }
    }

    /** The attribute and its class. One path and one method leave one class, but for attributes that many have. */
    private fun attribute(
        type: StructureType<*>,
        method: RequestMethod,
        path: MadPath,
        mgmtClass: ManagementClass?,
    ): Pair<Attribute, Int> {
        val all = attributes.computeIfAbsent(type to method) { (of, by) -> candidates(of, by) }
        // One pass without lists: each request comes by here.
        var chosen: Pair<Attribute, Int>? = null
        var count = 0
        for (candidate in all) {
            val number = candidate.second
            if (fits(number, path) && (mgmtClass == null || number == mgmtClass.value)) {
                chosen = candidate
                count++
            }
        }
        require(chosen != null) {
            val wanted = if (mgmtClass == null) "" else " in the class $mgmtClass"
            "${type.name} cannot be asked for by $path$wanted: it belongs to ${names(all)}, " +
                "and only subnet management takes directed paths"
        }
        require(count == 1) { "${type.name} belongs to ${names(all)}: give one of them as mgmtClass" }
        return chosen
    }

    private fun candidates(
        type: StructureType<*>,
        method: RequestMethod,
    ): List<Pair<Attribute, Int>> =
        type.attributes.filter { method in it.methods }.flatMap { of -> of.classes.map { of to it } }

    private fun names(of: List<Pair<Attribute, Int>>): String =
        of.joinToString { (_, number) -> ManagementClass.of(number).toString() }

    private fun fits(
        mgmtClass: Int,
        path: MadPath,
    ): Boolean =
        when (path) {
            is DirectedPath -> mgmtClass == DIRECTED
            is LidPath -> mgmtClass != DIRECTED
        }
}
