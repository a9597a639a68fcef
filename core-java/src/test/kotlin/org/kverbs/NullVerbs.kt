package org.kverbs

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.AddressAttributes
import org.kverbs.attributes.AsyncEventType
import org.kverbs.attributes.Feature
import org.kverbs.attributes.QueuePairCapabilities
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.SharedReceiveQueueAttributes
import org.kverbs.internal.abi.CCompiler
import org.kverbs.internal.abi.runProgram
import org.kverbs.internal.memory.Memory
import java.lang.foreign.Arena
import java.lang.foreign.FunctionDescriptor
import java.lang.foreign.Linker
import java.lang.foreign.MemorySegment
import java.lang.foreign.SymbolLookup
import java.lang.foreign.ValueLayout.ADDRESS
import java.lang.foreign.ValueLayout.JAVA_INT
import java.lang.foreign.ValueLayout.JAVA_LONG
import java.lang.invoke.MethodHandle
import java.nio.file.Path
import kotlin.io.path.listDirectoryEntries

/**
 * A libibverbs that needs no RDMA (`src/test/c`): one device, `null0`, whose objects are real C structures and are
 * counted, and whose queues move nothing. It is compiled when first used, and from then on this JVM's libibverbs.
 */
internal object NullVerbs {
    /** The options, in the order of `enum null_option`. */
    enum class Option {
        EXTENDED,
        COMPLETE,
        ENDLESS,
        REFUSE_AT,
        REFUSE_ERRNO,
        KEEP_KIND,
        KEEP_ERRNO,
        MUTE,
        NAMELESS,
        LOCKS,
        WAIT,
        REFUSE_MOVE,
        CLOCKLESS,
        FORK_ERRNO,
        BUSY_POLLS,
        PLACES,
        LACKS,
        TRAITS,
        MIGRATES,
        LATE,
    }

    /** The bits of `enum null_trait`. */
    enum class Trait { FOREIGN, BARE, LIKE_MLX4, LIKE_MANA, LIKE_RXE }

    /** The kinds of objects, in the order of `enum null_kind`. */
    enum class Kind { CONTEXT, PD, MR, MW, CHANNEL, CQ, SRQ, QP, AH, TD, DM, XRCD, FLOW, COUNTERS, WQ, TABLE, ACTION }

    private val headers = listOf("infiniband/verbs.h")

    /** The compiled library, next to the folder of the compiled tests. */
    val library: Path by lazy { compile("libnullverbs.so") }

    /** The library as an older release of rdma-core, for another JVM. */
    fun ofRelease(release: Int): Path = compile("libnullverbs$release.so", "-DNULL_RELEASE=$release")

    private fun compile(
        name: String,
        vararg options: String,
    ): Path {
        CCompiler.require(headers)
        val classes = Path.of(NullVerbs::class.java.protectionDomain.codeSource.location.toURI())
        val file = classes.resolveSibling(name)
        val sources =
            Path
                .of(
                    System.getProperty("kverbs.root"),
                    "core-java/src/test/c",
                ).listDirectoryEntries("*.c")
                .map {
                    it.toString()
                }
        val usual = listOf("-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC", "-o", file.toString())
        runProgram("gcc", *options, *usual.toTypedArray(), *sources.toTypedArray())
        return file
    }

    private val symbols by lazy {
        System.setProperty("kverbs.libibverbs", library.toString())
        SymbolLookup.libraryLookup(library, Arena.global())
    }
    private val setOption by lazy { function("null_set", FunctionDescriptor.ofVoid(JAVA_INT, JAVA_INT)) }
    private val resetAll by lazy { function("null_reset", FunctionDescriptor.ofVoid()) }
    private val liveObjects by lazy { function("null_live", FunctionDescriptor.of(JAVA_INT, JAVA_INT)) }
    private val destroyedObject by lazy { function("null_destroyed", FunctionDescriptor.of(JAVA_LONG, JAVA_INT)) }
    private val abortedPosts by lazy { function("null_aborted", FunctionDescriptor.of(JAVA_INT, JAVA_LONG)) }
    private val queriesOfDevice by lazy { function("null_queries", FunctionDescriptor.of(JAVA_INT)) }
    private val domainFlags by lazy { function("null_xrcd_flags", FunctionDescriptor.of(JAVA_INT)) }
    private val namedQueue by lazy { function("null_last_queue", FunctionDescriptor.of(JAVA_INT, JAVA_LONG)) }
    private val placedLast by lazy { function("null_placed", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG)) }
    private val inlinedLast by lazy { function("null_inlined", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG)) }
    private val completeOne by lazy { function("null_complete", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG)) }
    private val flagsOfCq by lazy { function("null_cq_flags", FunctionDescriptor.of(JAVA_INT, JAVA_LONG)) }
    private val rateOfQp by lazy { function("null_rate", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG)) }
    private val lastAdvice by lazy { function("null_advised", FunctionDescriptor.of(JAVA_LONG, JAVA_INT)) }
    private val lastTagged by lazy { function("null_tagged", FunctionDescriptor.of(JAVA_LONG, JAVA_INT)) }
    private val lastFlow by lazy { function("null_flow", FunctionDescriptor.of(ADDRESS)) }
    private val lastScaling by lazy { function("null_scaling", FunctionDescriptor.of(ADDRESS)) }
    private val lastOffload by lazy { function("null_offload", FunctionDescriptor.of(ADDRESS)) }
    private val raiseEvent by lazy {
        function("null_raise", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG))
    }

    private fun function(
        name: String,
        descriptor: FunctionDescriptor,
    ): MethodHandle = Linker.nativeLinker().downcallHandle(symbols.findOrThrow(name), descriptor)

    fun set(
        option: Option,
        value: Int,
    ) {
        setOption.invokeWithArguments(option.ordinal, value)
    }

    fun set(vararg traits: Trait) = set(Option.TRAITS, traits.sumOf { 1 shl it.ordinal })

    /** Returns how often the extended attributes of the device were queried since the last reset. */
    fun queries(): Int = queriesOfDevice.invokeWithArguments() as Int

    /** Resets all options and the list of destroyed objects. */
    fun reset() {
        resetAll.invokeWithArguments()
    }

    fun live(kind: Kind): Int = liveObjects.invokeWithArguments(kind.ordinal) as Int

    /** Returns the number of objects of each kind, without kinds that have none. */
    fun live(): Map<Kind, Int> = Kind.entries.associateWith { live(it) }.filterValues { it != 0 }

    /** Returns the addresses of the objects that were destroyed since the last reset, the oldest first. */
    fun destroyed(): List<Long> =
        generateSequence(0) { it + 1 }
            .map { destroyedObject.invokeWithArguments(it) as Long }
            .takeWhile { it != 0L }
            .toList()

    /** Returns how many extended posts were aborted on a queue pair. */
    fun aborted(qp: QueuePair): Int = abortedPosts.invokeWithArguments(qp.handle()) as Int

    /** Returns the `enum ibv_create_cq_attr_flags` that an extended queue was made with. */
    fun flags(cq: CompletionQueue): Int = flagsOfCq.invokeWithArguments(cq.handle()) as Int

    /** Returns the rate of a queue pair in kb/s, its burst and its packet size. */
    fun rate(qp: QueuePair): List<Long> =
        (
            rateOfQp.invokeWithArguments(
                qp.handle(),
            ) as Long
        ).let { listOf(it ushr 32, it shr 16 and 0xffff, it and 0xffff) }

    /** Returns the advice, the flags, the number of entries and their bytes in the last call of ibv_advise_mr. */
    fun advised(): List<Long> = List(4) { lastAdvice.invokeWithArguments(it) as Long }

    /**
     * Returns the limits of the last queue with tag matching, and opcode, flags, id and count of the last operation on
     * its list; then the handle, or the receive's id, tag, mask and length.
     */
    fun tagged(): List<Long> = List(10) { lastTagged.invokeWithArguments(it) as Long }

    /** Returns the flags with which an XRC domain was opened last. */
    fun domainFlags(): Int = domainFlags.invokeWithArguments() as Int

    /** Returns the number of the shared receive queue that the last request of a queue pair named. */
    fun namedQueue(qp: QueuePair): Int = namedQueue.invokeWithArguments(qp.handle()) as Int

    /** Returns what a queue pair was told last of an atomic write or a flush, as `struct null_placed` has it. */
    fun placed(qp: QueuePair): Placed {
        val at = placedLast.invokeWithArguments(qp.handle()) as Long
        val (count, rkey, address, value, type) = List(5) { Memory.getLong(at + it * 8L) }
        return Placed(count, rkey, address, value, type, Memory.getLong(at + 40), Memory.getLong(at + 48))
    }

    /** The fields of `struct null_placed`. */
    data class Placed(
        val count: Long,
        val rkey: Long,
        val address: Long,
        val value: Long,
        val type: Long = 0,
        val level: Long = 0,
        val setters: Long = 0,
    )

    /** Returns the first bytes of the inline data that a queue pair was told last. */
    fun inlined(
        qp: QueuePair,
        length: Int,
    ): List<Byte> {
        val at = inlinedLast.invokeWithArguments(qp.handle()) as Long
        return List(length) { Memory.getByte(at + it) }
    }

    /** Returns what the last flow rule asked for, as C reads it. */
    fun flow(): String = (lastFlow.invokeWithArguments() as MemorySegment).reinterpret(2048).getString(0)

    /** Returns what the last call on work queues, tables or queue pairs with a table asked for, as C reads it. */
    fun scaling(): String = (lastScaling.invokeWithArguments() as MemorySegment).reinterpret(1024).getString(0)

    /** Returns what the last send in segments or the last flow action asked for, as C reads it. */
    fun offload(): String = (lastOffload.invokeWithArguments() as MemorySegment).reinterpret(1024).getString(0)

    /** Puts successful completions with these ids into a queue. */
    fun complete(
        cq: CompletionQueue,
        ids: Iterable<Long>,
    ) = ids.forEach { check(completeOne.invokeWithArguments(cq.handle(), it) == 0) { "no room for completion $it" } }

    /** Raises an asynchronous event of an object, which begins with the address of its context. */
    fun raise(
        type: AsyncEventType,
        source: Long,
    ) = check(raiseEvent.invokeWithArguments(Memory.getLong(source), type.code(), source) == 0) { "no room for $type" }

    /** Opens null0. */
    fun open(extended: Boolean = true): Context {
        set(Option.EXTENDED, if (extended) 1 else 0)
        return Device.byName("null0").open()
    }

    /**
     * Sets up a spec on null0: every test begins with the default options and must leave no object behind. Without a C
     * compiler each test fails and names the package to install.
     */
    fun FunSpec.onNullDevice() {
        beforeTest { reset() }
        afterTest {
            withClue("objects that the test left behind") { live() shouldBe emptyMap() }
        }
    }
}

/** The objects that most tests on null0 need. Closing it closes all of them. */
internal class NullBench(
    extended: Boolean = true,
) : AutoCloseable {
    val context: Context = NullVerbs.open(extended)
    val pd: ProtectionDomain = context.protectionDomain()
    val channel: CompletionChannel = context.completionChannel()
    val cq: CompletionQueue = context.completionQueue(CompletionQueueAttributes.of(1024, channel))
    val mr: MemoryRegion = pd.memoryRegion(4096, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.MW_BIND)

    fun queuePair(type: QueuePairType = QueuePairType.RC): QueuePair =
        pd.queuePair(QueuePairInitAttributes.of(type, cq))

    fun queuePair(capabilities: QueuePairCapabilities): QueuePair =
        pd.queuePair(QueuePairInitAttributes.of(QueuePairType.RC, cq).with(capabilities))

    fun extendedQueuePair(
        capabilities: QueuePairCapabilities = QueuePairInitAttributes.DEFAULT_CAPABILITIES,
        cq: CompletionQueue = this.cq,
    ): QueuePair = pd.queuePair(QueuePairInitAttributes.of(QueuePairType.RC, cq).with(capabilities).asExtended())

    fun extendedQueuePair(vararg features: Feature): QueuePair =
        pd.queuePair(QueuePairInitAttributes.of(QueuePairType.RC, cq).asExtended(*features))

    fun extendedCompletionQueue(): CompletionQueue =
        context.completionQueue(CompletionQueueAttributes.of(1024).asExtended())

    fun sharedReceiveQueue(): SharedReceiveQueue = pd.sharedReceiveQueue(SharedReceiveQueueAttributes(64, 1, 0))

    fun addressHandle(): AddressHandle = pd.addressHandle(AddressAttributes.builder().port(1).build())

    override fun close() = context.close()
}
