package org.kverbs.management.sa

import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import org.kverbs.attributes.Gid
import org.kverbs.management.path.LidPath
import org.kverbs.management.structures.InformInfo
import org.kverbs.management.structures.MultiPathRecord
import org.kverbs.management.structures.PathRecord
import org.kverbs.management.structures.SAStatus
import org.kverbs.management.structures.TraceRecord
import org.kverbs.management.transaction.MadClassException
import org.kverbs.management.transaction.MadException
import org.kverbs.management.transaction.MadReplyException
import org.kverbs.management.transaction.MadTimeoutException
import org.kverbs.management.transaction.MadTransactor
import org.kverbs.management.transaction.transactRedirected
import org.kverbs.management.transport.MAD_SIZE
import org.kverbs.management.transport.MadPort
import org.kverbs.management.transport.MadTransportException
import org.kverbs.structures.ComponentMask
import org.kverbs.structures.DynamicStructure
import org.kverbs.structures.Lid
import org.kverbs.structures.Query
import org.kverbs.structures.RecordType
import org.kverbs.structures.RequestMethod
import org.kverbs.structures.Structure
import org.kverbs.structures.StructureType
import org.kverbs.structures.TakesDelete
import org.kverbs.structures.TakesGet
import org.kverbs.structures.TakesGetTable
import org.kverbs.structures.TakesSet
import org.kverbs.structures.structureTypeOf
import kotlin.time.Duration

/**
 * Asks the subnet administrator: the service of the subnet manager that knows all nodes, ports, links and paths.
 *
 * ```
 * val hosts = fabric.sa.records<NodeRecord> { nodeInfo.nodeType = NodeType.CA }
 * val paths = fabric.sa.paths { sgid = here; dgid = there }
 * ```
 *
 * What a lambda assigns is what a record must match. Without an assignment all records match. An administrator without
 * a matching record answers with an error or with nothing: both are an empty list here, and an exception where one
 * record is asked for.
 *
 * Threads, cancellation and errors are those of [MadTransactor.transact]; `MadClassException` names the
 * administrator's status. Programs get one from `Fabric.sa`.
 */
public class SubnetAdministration internal constructor(
    private val transactor: MadTransactor,
    private val port: () -> MadPort,
    private val timeout: Duration,
    private val retries: Int,
    private val key: Long,
) {
    private val found = PathCache()

    @Volatile
    private var administrator: LidPath? = null

    /** How many requests wait for an answer at once. */
    internal val maxOutstanding: Int get() = transactor.maxOutstanding

    /**
     * Where the administrator is: the LID and the service level of the subnet manager, as this port knows them.
     *
     * @throws MadTransportException if no subnet manager has told the port yet
     */
    public val path: LidPath get() = administrator ?: locate().also { administrator = it }

    private fun locate(): LidPath {
        val info = port().info
        if (!info.masterSMLID.isUnicast) {
            throw MadTransportException("the port knows no subnet manager; start one, such as opensm, and try again")
        }
        return LidPath(info.masterSMLID, serviceLevel = info.masterSMSL)
    }

    /** Asks for the one record that matches. */
    public suspend inline fun <reified S> get(noinline assign: S.() -> Unit): S where S : Structure, S : TakesGet =
        get(queryOf(structureTypeOf<S>(), assign))

    /** Asks for the one record that matches a query. */
    public suspend fun <S> get(query: Query<S>): S where S : Structure, S : TakesGet = single(RequestMethod.GET, query)

    /** Asks for all records that match. */
    public suspend inline fun <reified S> records(
        noinline assign: S.() -> Unit = {},
    ): List<S>
        where S : Structure, S : TakesGetTable = getTable(queryOf(structureTypeOf<S>(), assign))

    /** Asks for all records that match a query. */
    public suspend fun <S> getTable(query: Query<S>): List<S> where S : Structure, S : TakesGetTable =
        table(query).toList()

    /**
     * Asks for all records of a type that is known by its name only when the program runs:
     * `described.type("NodeRecord").query { this["lid"] = 4 }`.
     *
     * @throws IllegalArgumentException if the type is no record that the method GetTable asks for
     */
    public suspend fun getTableDynamic(query: Query<DynamicStructure>): List<DynamicStructure> {
        val type = query.record.structureType
        require(RequestMethod.GET_TABLE in type.methods) { "${type.name} is nothing that the method GetTable asks for" }
        return table(query).toList()
    }

    /**
     * Asks for all records that match, each time that the flow is collected. Each record is read when it is its turn.
     */
    public fun <S> recordFlow(query: Query<S>): Flow<S> where S : Structure, S : TakesGetTable =
        flow { table(query).forEach { emit(it) } }

    /** Adds a record, or changes one. Returns it as the administrator has it then. */
    public suspend fun <S> set(query: Query<S>): S where S : Structure, S : TakesSet = single(RequestMethod.SET, query)

    /** Deletes the record that matches, and returns it. */
    public suspend fun <S> delete(query: Query<S>): S where S : Structure, S : TakesDelete =
        single(RequestMethod.DELETE, query)

    /**
     * Asks for the nodes on the way of a path, from its source to its destination. `sgid` and `dgid`, or LIDs, say which
     * path. Few administrators answer this; opensm does not.
     *
     * @throws org.kverbs.management.transaction.MadStatusException if the administrator cannot do it
     */
    public suspend fun trace(assign: PathRecord.() -> Unit): List<TraceRecord> {
        val query = PathRecord.query(assign)
        val id = SaMessages.attributeId(TraceRecord)
        // The attribute is the answer's, the record the question's.
        val request =
            SaMessages.request(RequestMethod.GET_TRACE_TABLE, id, query.mask, key, query.record.bytes())
        return recordsOf(request, TraceRecord).toList()
    }

    /** Asks for paths. `sgid` and `dgid`, or LIDs, say between which ports. Without `numbPath` up to 127 come. */
    public suspend fun paths(assign: PathRecord.() -> Unit): List<PathRecord> =
        getTable(
            PathRecord.query {
                numbPath = MOST_PATHS
                assign()
            },
        )

    /**
     * Asks for paths between any of the ports [from] and any of the ports [to], in one request of any length.
     *
     * @throws IllegalArgumentException if there are none, or more than 255
     */
    public suspend fun getMulti(
        from: List<Gid>,
        to: List<Gid>,
        assign: MultiPathRecord.() -> Unit = {},
    ): List<PathRecord> {
        for (gids in listOf(from, to)) {
            require(gids.size in 1..BYTE) { "${gids.size} ports are at one end of the paths; give 1 to $BYTE" }
        }
        val type: RecordType<MultiPathRecord> = MultiPathRecord
        val query =
            type.query {
                assign()
                sgidCount = from.size
                dgidCount = to.size
            }
        val gids = (from + to).fold(ByteArray(0)) { bytes, gid -> bytes + gid.bytes() }
        val head = query.record.bytes().copyOf(type.description.field("sdgid").offset / Byte.SIZE_BITS)
        val id = SaMessages.attributeId(type)
        val request = SaMessages.request(RequestMethod.GET_MULTI, id, query.mask, key, head + gids, isLong = true)
        return recordsOf(request, PathRecord).toList()
    }

    /**
     * Finds a path to a port, and remembers it.
     *
     * @param to the port
     * @param from the port at the beginning; null for this one
     * @throws SaPathNotFoundException if the administrator knows none
     */
    public suspend fun path(
        to: Gid,
        from: Gid? = null,
    ): SaPath = resolve(to, "end port GID('${to.toCompactString()}')", from) { dgid = to }

    /** Finds a path to the port with the LID of [to], and remembers it. */
    public suspend fun path(
        to: LidPath,
        from: Gid? = null,
    ): SaPath = resolve(to.destination, "end port LID ${to.destination}", from) { dlid = to.destination }

    /** Forgets the paths that were found, and where the administrator is. */
    public fun forget() {
        found.clear()
        administrator = null
    }

    private suspend fun resolve(
        to: Any,
        what: String,
        from: Gid?,
        assign: PathRecord.() -> Unit,
    ): SaPath {
        // By its LID this port is known, whatever its GIDs are.
        val here = port().info.lid
        val source: Any = from ?: here
        return found[source, to] ?: ask(what, from, here, assign).also { found[source, to] = it }
    }

    private suspend fun ask(
        what: String,
        from: Gid?,
        here: Lid,
        assign: PathRecord.() -> Unit,
    ): SaPath {
        val query =
            PathRecord.query {
                if (from == null) slid = here else sgid = from
                numbPath = 1
                reversible = true
                assign()
            }
        try {
            return single(RequestMethod.GET, query, ::SaPath)
        } catch (e: MadClassException) {
            if (e.classStatus !in notFound) throw e.within("Failed getting MAD path record for $what.")
            throw SaPathNotFoundException(what, e.request, e.reply, e.path, e.messages.first())
                .apply { initCause(e) }
                .within("Failed getting MAD path record for $what.")
        } catch (e: MadException) {
            throw e.within("Failed getting MAD path record for $what.")
        }
    }

    /** Subscribes to traps of the subnet, or ends a subscription: the administrator forwards them to this port. */
    internal suspend fun inform(subscription: InformInfo): InformInfo =
        one(
            SaMessages.request(
                RequestMethod.SET,
                SaMessages.attributeId(InformInfo),
                ComponentMask(0),
                key,
                subscription.bytes(),
            ),
            InformInfo,
        )

    private suspend fun <S : Structure> single(
        method: RequestMethod,
        query: Query<S>,
    ): S = single(method, query) { it }

    @Suppress("UNCHECKED_CAST") // The type of a record makes records of its class.
    private suspend fun <S : Structure, R> single(
        method: RequestMethod,
        query: Query<S>,
        read: (S) -> R,
    ): R = one(request(method, query), query.record.structureType as StructureType<S>, read)

    private suspend fun <S : Structure> one(
        request: ByteArray,
        type: StructureType<S>,
    ): S = one(request, type) { it }

    /** Asks for one record. What [read] cannot take is an answer that does not fit together. */
    private suspend fun <S : Structure, R> one(
        request: ByteArray,
        type: StructureType<S>,
        read: (S) -> R,
    ): R {
        val reply = transact(request)
        val data =
            SaMessages.record(reply, type)
                ?: throw MadReplyException(request, reply, path, "it is too short for a ${type.name}")
        val size = reply.size - SaMessages.DATA_AT
        if (reply.size != MAD_SIZE && size >= type.byteSize + Long.SIZE_BYTES) {
            throw MadReplyException(request, reply, path, "it has $size bytes, more than one ${type.name}")
        }
        return try {
            read(type.of(data))
        } catch (e: IllegalArgumentException) {
            throw MadReplyException(request, reply, path, e.message.orEmpty()).apply { initCause(e) }
        }
    }

    @Suppress("UNCHECKED_CAST") // As above.
    private suspend fun <S : Structure> table(query: Query<S>): Sequence<S> =
        recordsOf(request(RequestMethod.GET_TABLE, query), query.record.structureType as StructureType<S>)

    private suspend fun <S : Structure> recordsOf(
        request: ByteArray,
        type: StructureType<S>,
    ): Sequence<S> {
        val reply =
            try {
                transact(request)
            } catch (e: MadClassException) {
                if (e.classStatus != SAStatus.NO_RECORDS.value) throw e
                return emptySequence()
            }
        try {
            return SaMessages.records(reply, type).map { type.at(it) }
        } catch (e: IllegalArgumentException) {
            throw MadReplyException(request, reply, path, e.message.orEmpty()).apply { initCause(e) }
        }
    }

    private fun request(
        method: RequestMethod,
        query: Query<*>,
    ) = SaMessages.request(
        method,
        SaMessages.attributeId(query.record.structureType),
        query.mask,
        key,
        query.record.bytes(),
    )

    private suspend fun transact(request: ByteArray): ByteArray =
        try {
            transactor.transactRedirected(request, path, timeout, retries)
        } catch (e: MadTimeoutException) {
            // Another port can be the manager by now.
            administrator = null
            throw e
        }

    private companion object {
        private const val MOST_PATHS = 127
        private const val BYTE = 255
        private val notFound = setOf(SAStatus.NO_RECORDS.value, SAStatus.REQ_INVALID_GID.value)
    }
}

/**
 * Makes a query for records of [type].
 *
 * @throws IllegalArgumentException if they are no records of subnet administration
 */
public fun <S : Structure> queryOf(
    type: StructureType<S>,
    assign: S.() -> Unit,
): Query<S> {
    require(type is RecordType<S>) { "${type.name} is no record of subnet administration" }
    return type.query(assign)
}
