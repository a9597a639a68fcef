package org.kverbs

import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.QueuePairType
import java.lang.foreign.Arena
import java.lang.foreign.FunctionDescriptor
import java.lang.foreign.Linker
import java.lang.foreign.SymbolLookup
import java.lang.foreign.ValueLayout.JAVA_INT
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicLong
import kotlin.concurrent.thread
import kotlin.io.path.createTempFile
import kotlin.io.path.deleteExisting
import kotlin.io.path.readText
import kotlin.reflect.KClass

/**
 * Posts in one thread and polls in another while the garbage collector runs. The driver takes one lock in both calls.
 * The program runs in a JVM of its own: if a critical call waited for a thread that has stopped for the collector, the
 * JVM would hang.
 */
internal object HeldLockProgram {
    enum class Case {
        EXTENDED_POLL_AND_POST,
        EXTENDED_POLL_AND_RECEIVE,
        EXTENDED_POST_AND_POLL,
        WAITING_POST,
        WAITING_POLL,
    }

    private const val COLLECTIONS = 100

    @JvmStatic
    fun main(arguments: Array<String>) {
        set(NullVerbs.Option.EXTENDED, 1)
        val case = Case.valueOf(arguments.single())
        Device.byName("null0").open().use { context ->
            val (post, poll) = calls(case, context)
            when (case) {
                Case.WAITING_POST -> waiting(post)
                Case.WAITING_POLL -> waiting(poll)
                else -> together(post, poll)
            }
        }
        println("done")
    }

    private fun calls(
        case: Case,
        context: Context,
    ): Pair<() -> Unit, () -> Unit> {
        val pd = context.protectionDomain()
        val attributes = CompletionQueueAttributes.of(64)
        val extendedPoll = case == Case.EXTENDED_POLL_AND_POST || case == Case.EXTENDED_POLL_AND_RECEIVE
        val cq = context.completionQueue(if (extendedPoll) attributes.asExtended() else attributes)
        val plain = QueuePairInitAttributes.of(QueuePairType.RC, cq)
        val qp = pd.queuePair(if (case == Case.EXTENDED_POST_AND_POLL) plain.asExtended() else plain)
        val slice = pd.memoryRegion(64, AccessFlag.LOCAL_WRITE).slice()
        val sends = SendRequests().apply { repeat(16) { send(it.toLong()).from(slice) } }
        val batch = WorkCompletions(16)
        val poll: () -> Unit = { cq.poll(batch) }
        return if (case == Case.EXTENDED_POLL_AND_RECEIVE) {
            { qp.postReceive(1, slice) } to poll
        } else {
            { qp.post(sends) } to poll
        }
    }

    /** Repeats both calls, each in its thread, until a number of collections have stopped and resumed them. */
    private fun together(
        post: () -> Unit,
        poll: () -> Unit,
    ) {
        set(NullVerbs.Option.ENDLESS, 1)
        set(NullVerbs.Option.LOCKS, 1)
        val rounds = List(2) { AtomicLong() }
        listOf(post, poll).zip(rounds).forEach { (call, round) ->
            thread(isDaemon = true) {
                while (true) {
                    call()
                    round.incrementAndGet()
                    // Spin locks are unfair: give the lock to the other thread on a machine with few processors.
                    Thread.yield()
                }
            }
        }
        repeat(COLLECTIONS) {
            val before = rounds.map { it.get() }
            System.gc()
            while (rounds.zip(before).any { (round, then) -> round.get() == then }) Thread.sleep(1)
        }
        println("done")
        Runtime.getRuntime().halt(0) // the threads still call
    }

    /** Makes one call that the driver holds, as the kernel holds a system call, until a collection has run. */
    private fun waiting(call: () -> Unit) {
        set(NullVerbs.Option.WAIT, 1)
        val caller = thread { call() }
        while (get(NullVerbs.Option.WAIT) != 2) Thread.sleep(1)
        System.gc()
        set(NullVerbs.Option.WAIT, 0)
        caller.join()
    }

    private val symbols by lazy { SymbolLookup.libraryLookup(System.getProperty("kverbs.libibverbs"), Arena.global()) }

    private fun set(
        option: NullVerbs.Option,
        value: Int,
    ) {
        Linker
            .nativeLinker()
            .downcallHandle(symbols.findOrThrow("null_set"), FunctionDescriptor.ofVoid(JAVA_INT, JAVA_INT))
            .invokeWithArguments(option.ordinal, value)
    }

    private fun get(option: NullVerbs.Option): Int {
        val size = JAVA_INT.byteSize() * NullVerbs.Option.entries.size
        return symbols.findOrThrow("null_options").reinterpret(size).getAtIndex(JAVA_INT, option.ordinal.toLong())
    }

    /** Runs a case in a JVM with these options. Returns its output, or a text that says that it was killed. */
    fun run(
        case: Case,
        library: String,
        vararg options: String,
    ): String {
        val classes = listOf<KClass<*>>(HeldLockProgram::class, Device::class, Unit::class)
        val classPath = classes.joinToString(":") { it.java.protectionDomain.codeSource.location.path }
        val java = System.getProperty("java.home") + "/bin/java"
        val output = createTempFile("held-lock")
        val command =
            listOf(java, "-XX:+UseSerialGC", "-Xmx64m", "--enable-native-access=ALL-UNNAMED") + options +
                listOf("-Dkverbs.libibverbs=$library", "-cp", classPath, HeldLockProgram::class.java.name, case.name)
        val process = ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile()).start()
        try {
            val ended = process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)
            return output.readText().trim() + if (ended) "" else " and then stood still"
        } finally {
            process.destroyForcibly().waitFor()
            output.deleteExisting()
        }
    }

    /** A run takes 2 s. */
    private const val LIMIT_SECONDS = 60L
}
