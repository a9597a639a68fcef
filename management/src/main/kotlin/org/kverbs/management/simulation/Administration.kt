package org.kverbs.management.simulation

import org.kverbs.attributes.Gid
import org.kverbs.management.structures.ClassPortInfo
import org.kverbs.management.structures.InformInfoRecord
import org.kverbs.management.structures.MCMemberRecord
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.Notice
import org.kverbs.management.structures.NoticeSMP
import org.kverbs.management.structures.PKeyTableRecord
import org.kverbs.management.structures.PathRecord
import org.kverbs.management.structures.ServiceAssociationRecord
import org.kverbs.management.structures.ServiceRecord
import org.kverbs.management.structures.TraceRecord
import org.kverbs.management.structures.TrapNumber
import org.kverbs.management.transport.MAD_SIZE
import org.kverbs.structures.Structure

private const val GET_TABLE = 0x12
private const val GET_TRACE_TABLE = 0x13
private const val GET_MULTI = 0x14
private const val DELETE = 0x15
private const val KEY_AT = 36
private const val MASK_AT = 48
private const val RMPP_AT = 24
private const val RMPP_SIZE = 12
private const val CLASS_PORT_INFO = 0x01
private const val INFORM_INFO = 0x03
private const val MULTI_PATH = 0x3a

/** What a question of subnet administration brings: records, or the status that says why not. */
internal class Found(
    val records: List<Structure>,
    val status: Int = 0,
)

/** Subnet administration: takes a request, and makes the message that answers it. */
internal class Administration(
    private val exchange: Exchange,
    agent: SubnetAgent,
    private val network: Network,
    private val manager: SubnetManager,
) {
    private val records = Records(network, agent, manager)
    private val paths = PathQuery(network, manager)
    private val services = ServiceRegistry()
    private val finder = PathFinder(network)
    private val traps = Traps(network)

    /** What the administrator has noticed by itself and not yet reported. */
    private val noticed = ArrayList<ByteArray>()
    private val groups = MulticastGroups(network, manager, ::notice)
    private val informs = Subscriptions { lid -> finder.gid(manager.subnet.port(lid) ?: end) }

    /** The answer to a request from the port with this LID. Null for what needs none. */
    fun answer(
        request: ByteArray,
        from: Int,
    ): ByteArray? {
        val method = Mads.method(request)
        if (method == Mads.TRAP || (method !in METHODS && method > LAST_REQUEST)) return null
        val found =
            exchange.ask {
                manager.activity++
                when {
                    Mads.classVersion(request) != 2 -> Found(emptyList(), Mads.VERSION_UNSUPPORTED)
                    method !in METHODS -> Found(emptyList(), Mads.METHOD_UNSUPPORTED)
                    else -> find(request, from)
                }
            }
        return message(request, method, found)
    }

    /** The reports of a trap, and the LIDs of their receivers. */
    fun reports(trap: ByteArray): List<Pair<Int, ByteArray>> =
        exchange.ask { network ->
            val notice = NoticeSMP.of(trap.copyOfRange(Mads.DATA, Mads.DATA + NoticeSMP.byteSize))
            informs.wanting(notice).map { lid -> lid to report(network, notice) }
        }

    private fun report(
        network: Network,
        notice: NoticeSMP,
    ): ByteArray {
        val mad = Traps.mad(ManagementClass.SUBN_ADM, 2, Method.REPORT, nextReport++)
        notice.bytes().copyInto(mad, DATA)
        val issuer = manager.subnet.port(notice.issuerLID.value) ?: network.endPort(manager.port)
        Notice.at(mad, DATA).issuerGID = finder.gid(issuer)
        return mad
    }

    private fun notice(
        trap: TrapNumber,
        gid: Gid,
    ) {
        noticed += traps.gidChanged(end, trap, gid)
    }

    private val end get() = network.endPort(manager.port)

    /** Notices which end ports came and went. The exchange's lock is held. */
    fun changed(
        before: List<Int>,
        after: List<Int>,
    ) {
        (after - before.toSet()).forEach { notice(TrapNumber.GID_IN_SERVICE, finder.gid(it)) }
        (before - after.toSet()).forEach { notice(TrapNumber.GID_OUT_OF_SERVICE, finder.gid(it)) }
        groups.sweep()
    }

    /** What was noticed since the last call, as traps. */
    fun takeNoticed(): List<ByteArray> = exchange.ask { noticed.toList().also { noticed.clear() } }

    private var nextReport = 1L

    private fun find(
        request: ByteArray,
        from: Int,
    ): Found {
        val question = Question(request, from)
        val isQuery = question.method == Mads.GET || question.method == GET_TABLE
        val source = records.sources[question.attribute]
        return when {
            source != null && isQuery && isDenied(question) -> Found(emptyList(), REQUEST_INVALID)
            source != null && isQuery -> byLid(source, question)
            question.attribute == CLASS_PORT_INFO && question.method == Mads.GET -> Found(listOf(classPortInfo()))
            question.attribute == PathRecord.attributeId && isQuery -> paths.find(question)
            question.attribute == MULTI_PATH && question.method == GET_MULTI -> paths.findMany(question)
            question.attribute == TraceRecord.attributeId && question.method == GET_TRACE_TABLE -> paths.trace(question)
            question.attribute == ServiceRecord.attributeId -> services.serve(question)
            question.attribute == ServiceAssociationRecord.attributeId && isQuery -> services.associations(question)
            question.attribute == MCMemberRecord.attributeId -> groups.serve(question)
            question.attribute == INFORM_INFO && question.method == Mads.SET -> informs.subscribe(question)
            question.attribute == InformInfoRecord.attributeId && isQuery -> informs.find(question)
            else -> Found(emptyList(), Mads.ATTRIBUTE_UNSUPPORTED)
        }
    }

    /** Partition keys are told to requests with the administrator's key alone, as opensm does it. */
    private fun isDenied(question: Question) =
        question.attribute == PKeyTableRecord.attributeId && question.key != TRUSTED

    private fun byLid(
        source: RecordSource,
        question: Question,
    ): Found {
        val subnet = manager.subnet
        val isByLid = question.mask ushr source.lidBit and 1L != 0L
        val data = question.data(source.type.byteSize)
        val ends =
            if (isByLid) listOfNotNull(subnet.port(Wire.u16(data, 0))).asSequence() else subnet.ports().asSequence()
        val matching = Matching(source.type.components, question.mask, data)
        return Found(source.records(ends).filter { matching.matches(it) }.toList())
    }

    private fun classPortInfo() =
        ClassPortInfo {
            baseVersion = 1
            classVersion = 2
            capabilityMask = CAPABILITIES
            respTimeValue = RESPONSE_TIME
        }

    /** One record for Get, Set and Delete; all records behind each other for the methods that want many. */
    private fun message(
        request: ByteArray,
        method: Int,
        found: Found,
    ): ByteArray {
        val isMany = method in MANY
        val status =
            when {
                found.status != 0 || isMany -> found.status
                found.records.isEmpty() -> NO_RECORDS
                found.records.size > 1 -> TOO_MANY_RECORDS
                else -> 0
            }
        val records = if (status == 0) found.records else emptyList()
        val size = records.firstOrNull()?.memory?.byteSize()?.toInt() ?: 0
        val padded = (size + UNIT - 1) / UNIT * UNIT
        val isRmpp = isMany && status == 0
        val length = if (isRmpp) DATA + padded * records.size else MAD_SIZE
        val answer = request.copyOf(DATA).copyOf(maxOf(length, if (isRmpp) DATA else MAD_SIZE))
        answer.fill(0, RMPP_AT, RMPP_AT + RMPP_SIZE)
        if (isRmpp) Wire.put8(answer, RMPP_AT + 2, 1)
        Wire.put16(answer, OFFSET_AT, if (isMany) padded / UNIT else 0)
        records.forEachIndexed { index, record -> record.bytes().copyInto(answer, DATA + index * padded) }
        Mads.answer(answer, status)
        return answer
    }

    companion object {
        /** Where the data begin: behind the headers of MAD, RMPP and the class. */
        const val DATA = 56

        /** How far the records are apart, in units of eight bytes. */
        const val OFFSET_AT = 44
        const val UNIT = 8

        /** Statuses of the class. */
        const val NO_RECORDS = 3 shl 8
        const val TOO_MANY_RECORDS = 4 shl 8
        const val REQUEST_INVALID = 2 shl 8
        const val INVALID_GID = 5 shl 8
        const val INSUFFICIENT_COMPONENTS = 6 shl 8
        const val DENIED = 7 shl 8
        private val MANY = setOf(GET_TABLE, GET_TRACE_TABLE, GET_MULTI)
        private val METHODS = MANY + setOf(Mads.GET, Mads.SET, DELETE)
        private const val LAST_REQUEST = 0x7f

        /** Optional records, multicast, and paths between many ports. */
        private const val CAPABILITIES = 0x0700
        private const val RESPONSE_TIME = 16

        /** The key without another choice, opensm's sa_key. */
        private const val TRUSTED = 1L
    }
}

/** A request of subnet administration, taken apart. */
internal class Question(
    private val request: ByteArray,
    val from: Int,
) {
    val method: Int = Mads.method(request)
    val attribute: Int = Mads.attribute(request)
    val key: Long = Wire.u64(request, KEY_AT)
    val mask: Long = Wire.u64(request, MASK_AT)

    /** The bytes of the attribute; a request can be longer, or too short. */
    fun data(size: Int): ByteArray =
        request.copyOfRange(minOf(Administration.DATA, request.size), request.size).copyOf(size)

    val isSet: Boolean get() = method == Mads.SET
    val isDelete: Boolean get() = method == DELETE
}
