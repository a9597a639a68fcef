package org.kverbs.management.fabric

import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.emitAll
import kotlinx.coroutines.flow.filter
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.withContext
import org.kverbs.management.agent.Agent
import org.kverbs.management.agent.ReceivedNotice
import org.kverbs.management.agent.RequestHandler
import org.kverbs.management.path.DirectedPath
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath
import org.kverbs.management.sa.RecordedAttributes
import org.kverbs.management.sa.SubnetAdministration
import org.kverbs.management.structures.InformInfo
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.Method
import org.kverbs.management.transaction.MadClosedException
import org.kverbs.management.transaction.MadCounters
import org.kverbs.management.transaction.MadReplyException
import org.kverbs.management.transaction.MadTransactor
import org.kverbs.management.transaction.transactRedirected
import org.kverbs.management.transport.MAD_SIZE
import org.kverbs.management.transport.MadPort
import org.kverbs.management.transport.MadTransport
import org.kverbs.management.transport.ServedClass
import org.kverbs.structures.DynamicStructure
import org.kverbs.structures.RequestMethod
import org.kverbs.structures.Structure
import org.kverbs.structures.StructureType
import org.kverbs.structures.TakesGet
import org.kverbs.structures.TakesReport
import org.kverbs.structures.TakesSet
import org.kverbs.structures.TakesTrap
import org.kverbs.structures.structureTypeOf

/**
 * Asks the nodes of a fabric for their attributes, and changes them.
 *
 * ```
 * fabric(transport).use { fabric ->
 *     val node = fabric.get<NodeInfo>(directed(0, 1, 4))
 *     val port = fabric.get<PortInfo>(lid(12), modifier = 3)
 * }
 * ```
 *
 * The attribute's type says what it can be asked for: `get` of an attribute without the method Get does not compile.
 * The path says the class of subnet management: directed route for a [DirectedPath], LID routed for a [LidPath].
 *
 * Threads: any number of coroutines and threads can ask at once. Cancellation and errors are those of
 * [MadTransactor.transact].
 *
 * Programs make one with [fabric].
 */
public class Fabric internal constructor(
    private val transport: MadTransport,
    settings: FabricBuilder,
) : AutoCloseable {
    private val transactor =
        MadTransactor(transport, settings.outstanding, settings.rmpp, settings.context, settings.listener)
    private val agent = Agent(transactor).also { transactor.sink = it }
    private val timeout = settings.timeout
    private val retries = settings.retries
    private val requests = Requests(settings.mKey, settings.ccKey, settings.vendor)

    /** How many requests wait for an answer at once. */
    internal val maxOutstanding: Int get() = transactor.maxOutstanding

    /** The subnet administrator. */
    public val sa: SubnetAdministration =
        SubnetAdministration(transactor, transport::port, timeout, retries, settings.saKey)

    private val subscribers = Subscribers(sa)

    /**
     * Returns the source of the same attributes as [get], which answers from records of the subnet administrator. What
     * it learned of links and nodes is kept as long as the result.
     */
    public fun byRecords(): RecordedAttributes = RecordedAttributes(sa, transport::port)

    /** What happened to requests and answers so far. */
    public val counters: MadCounters get() = transactor.counters

    /** Returns what is known of this program's own port now. */
    public fun port(): MadPort = transport.port()

    /**
     * Asks for an attribute.
     *
     * @param path the port to ask
     * @param modifier the attribute modifier, such as a port's number for `PortInfo`; the attribute's description says
     *   what it means
     * @param mgmtClass the management class, for attributes of several classes
     * @param assign writes the fields that the request must have, such as `portSelect` of `PortCounters`
     * @return the attribute, in memory of its own
     * @throws org.kverbs.management.transaction.MadException if the fabric does not answer, or with an error
     * @throws IllegalArgumentException if no class of the attribute fits the path, or several do
     */
    public suspend inline fun <reified S> get(
        path: MadPath,
        modifier: Int = 0,
        mgmtClass: ManagementClass? = null,
        noinline assign: S.() -> Unit = {},
    ): S where S : Structure, S : TakesGet = get(structureTypeOf<S>(), path, modifier, mgmtClass, assign)

    /** Asks for an attribute whose type is a value. */
    public suspend fun <S> get(
        type: StructureType<S>,
        path: MadPath,
        modifier: Int = 0,
        mgmtClass: ManagementClass? = null,
        assign: S.() -> Unit = {},
    ): S where S : Structure, S : TakesGet = ask(type, RequestMethod.GET, path, modifier, mgmtClass, type(assign))

    /**
     * Asks for an attribute that is known by its name only when the program runs: `described.type("NodeInfo")`, or a
     * structure that the program declares itself.
     *
     * @throws IllegalArgumentException if nobody asks for the attribute by the method Get, or as [get] does
     */
    public suspend fun getDynamic(
        type: StructureType<DynamicStructure>,
        path: MadPath,
        modifier: Int = 0,
        mgmtClass: ManagementClass? = null,
        assign: DynamicStructure.() -> Unit = {},
    ): DynamicStructure {
        require(RequestMethod.GET in type.methods) { "${type.name} is nothing that the method Get asks for" }
        return ask(type, RequestMethod.GET, path, modifier, mgmtClass, type(assign))
    }

    /**
     * Changes an attribute.
     *
     * @param path the port to change
     * @param value the new value of all fields; the node ignores those that can't be changed
     * @param modifier the attribute modifier
     * @param mgmtClass the management class, for attributes of several classes
     * @return the attribute as the node has it then
     * @throws org.kverbs.management.transaction.MadException if the fabric does not answer, or with an error
     * @throws IllegalArgumentException if no class of the attribute fits the path, or several do
     */
    public suspend fun <S> set(
        path: MadPath,
        value: S,
        modifier: Int = 0,
        mgmtClass: ManagementClass? = null,
    ): S where S : Structure, S : TakesSet = ask(typeOf(value), RequestMethod.SET, path, modifier, mgmtClass, value)

    /**
     * Asks for an attribute that can be longer than its structure, such as text in a message of several datagrams.
     *
     * @param type the attribute
     * @param path the port to ask
     * @param modifier the attribute modifier
     * @return all bytes of the attribute, at least those of [type]
     * @throws org.kverbs.management.transaction.MadException if the fabric does not answer, or with an error
     */
    public suspend fun <S> getLong(
        type: StructureType<S>,
        path: LidPath,
        modifier: Int = 0,
    ): ByteArray where S : Structure, S : TakesGet {
        val request = requests.request(type, RequestMethod.GET, path, modifier, null, type { })
        return transact(type, request, path, isLong = true).let { it.copyOfRange(request.dataAt, it.size) }
    }

    private suspend fun <S : Structure> ask(
        type: StructureType<S>,
        method: RequestMethod,
        path: MadPath,
        modifier: Int,
        mgmtClass: ManagementClass?,
        value: S,
    ): S {
        val request = requests.request(type, method, path, modifier, mgmtClass, value)
        val reply = transact(type, request, path)
        return type.of(reply.copyOfRange(request.dataAt, request.dataAt + type.byteSize))
    }

    private suspend fun transact(
        type: StructureType<*>,
        request: Request,
        path: MadPath,
        isLong: Boolean = false,
    ): ByteArray {
        val reply = transactor.transactRedirected(request.mad, path, timeout, retries)
        val end = request.dataAt + type.byteSize
        if (!isLong && reply.size > maxOf(end, MAD_SIZE)) {
            val size = reply.size - request.dataAt
            throw MadReplyException(
                request.mad,
                reply,
                path,
                "it has $size bytes, more than a ${type.name}: use getLong",
            )
        }
        if (reply.size < end && (reply.size < MAD_SIZE || end > MAD_SIZE)) {
            throw MadReplyException(request.mad, reply, path, "it is too short for a ${type.name}")
        }
        return reply
    }

    /**
     * Answers the requests of other ports for a management class, until the result is closed.
     *
     * ```
     * fabric.serve(ManagementClass.OPENIB_PING) { request -> request.answer(OpenIBPing { hostName = "here" }) }
     * ```
     *
     * The handler runs in coroutines of its own, for up to 256 requests at once. One that never ends keeps its place, and
     * 256 of them make the class deaf: bound what can hang by `withTimeout`. What it throws is handed to the thread's
     * handler of uncaught exceptions; after an `IllegalArgumentException` the request is refused as invalid.
     *
     * On a port of this machine the kernel gives each method of a class to one program. Some classes are the kernel's,
     * or the subnet manager's; what is left of a class serves [ServedClass.methods].
     *
     * @throws IllegalStateException if the class is served already
     * @throws org.kverbs.management.transport.MadTransportException if another program serves it
     */
    public fun serve(
        mgmtClass: ManagementClass,
        handler: RequestHandler,
    ): AutoCloseable = agent.serve(ServedClass(mgmtClass), handler)

    /**
     * Answers requests for a part of a management class: `serve(ServedClass(mgmtClass, vendor = 0x001405)) { ... }`. On
     * a port of this machine a class of vendors is served for one of them, by its OUI.
     *
     * @throws IllegalStateException if the class is served already
     * @throws org.kverbs.management.transport.MadTransportException if another program serves it
     */
    public fun serve(
        service: ServedClass,
        handler: RequestHandler,
    ): AutoCloseable = agent.serve(service, handler)

    /**
     * Returns the traps that arrive while the flow is collected. Each is answered, so that its sender stops to repeat
     * it. The flow ends when the fabric is closed.
     *
     * A slow collector has up to 1024 waiting. A trap beyond them is not answered: its sender repeats it. Ports send traps to the subnet manager's port; any other
     * port gets reports of them by [informs].
     *
     * @param mgmtClass the class whose traps the kernel is to hand over, on a port of this machine; without this those
     *   of subnet management. Other transports hand over all.
     */
    public fun traps(mgmtClass: ManagementClass = ManagementClass.SUBN_LID_ROUTED): Flow<ReceivedNotice> =
        agent.notices(ServedClass(mgmtClass, methods = setOf(Method.TRAP)))

    /**
     * Subscribes to traps at the subnet administrator while the flow is collected, and returns its reports. All traps
     * are meant, if [assign] says no less, such as `trapNumberDeviceID = 128`. A slow collector has up to 1024 reports
     * waiting, as with [traps].
     *
     * Equal flows of one fabric share a subscription. The administrator knows the port alone: two fabrics at one port
     * that subscribe to the same end it for each other. A fabric that is closed before its collectors leaves the
     * subscription behind. An administrator that starts anew has forgotten its subscriptions, and nothing says so: collect
     * again when the port's subnet manager has changed.
     */
    public fun informs(assign: InformInfo.() -> Unit = {}): Flow<ReceivedNotice> {
        val wanted = informsOf(port(), assign)
        return flow {
            val subscription = Subscription(subscribers, wanted)
            try {
                val service = ServedClass(ManagementClass.SUBN_ADM, methods = setOf(Method.REPORT))
                emitAll(agent.notices(service, subscription::begin).filter(subscription::fits))
            } finally {
                withContext(NonCancellable) { subscription.end() }
            }
        }
    }

    /**
     * Sends a trap, again and again until the manager confirms it.
     *
     * @throws org.kverbs.management.transaction.MadTimeoutException if no confirmation came
     */
    public suspend fun <S> trap(
        path: LidPath,
        notice: S,
        mgmtClass: ManagementClass? = null,
    ) where S : Structure, S : TakesTrap {
        ask(typeOf(notice), RequestMethod.TRAP, path, 0, mgmtClass, notice)
    }

    /**
     * Sends a report of a trap to a subscriber, as the subnet administrator does.
     *
     * @throws org.kverbs.management.transaction.MadTimeoutException if no confirmation came
     */
    public suspend fun <S> report(
        path: LidPath,
        notice: S,
    ) where S : Structure, S : TakesReport {
        ask(typeOf(notice), RequestMethod.REPORT, path, 0, null, notice)
    }

    @Suppress("UNCHECKED_CAST") // The type of a structure makes structures of its class.
    private fun <S : Structure> typeOf(value: S) = value.structureType as StructureType<S>

    /** Ends all waits with a [MadClosedException], and closes the transport. */
    override fun close(): Unit = transactor.close()
}

/**
 * Asks a fabric over [transport], which the fabric closes, and which is closed if [configure] throws. The settings have
 * defaults that [FabricBuilder] names.
 */
public fun fabric(
    transport: MadTransport,
    configure: FabricBuilder.() -> Unit = {},
): Fabric {
    val settings =
        try {
            FabricBuilder().apply(configure)
        } catch (e: Throwable) {
            transport.close()
            throw e
        }
    return Fabric(transport, settings)
}
