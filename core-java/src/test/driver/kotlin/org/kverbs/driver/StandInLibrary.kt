package org.kverbs.driver

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.maps.shouldBeEmpty
import org.kverbs.CompletionQueue
import org.kverbs.Context
import org.kverbs.Device
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
import kotlin.io.path.div
import kotlin.io.path.listDirectoryEntries

/**
 * A library that stands in for libibverbs and for the library of a driver, compiled when first used: one device,
 * `null0`, whose queues move nothing, and a text of the calls that the driver got. From then on it is this JVM's libibverbs and
 * driver's library. The modules of drivers compile this file into their tests.
 *
 * @param module the folder of the module, `efa`: its `src/test/c` has the driver's part
 */
internal open class StandInLibrary(
    private val module: String,
) {
    /** The options, in the order of `enum driver_option`. */
    enum class Option { FOREIGN, REFUSE, NUMBER, CAPS }

    /** The kinds of objects, in the order of `enum null_kind`. */
    enum class Kind { CONTEXT, PD, MR, MW, CHANNEL, CQ, SRQ, QP, AH }

    private val root = Path.of(System.getProperty("kverbs.root"))

    /** The compiled library. */
    val library: Path by lazy { compile("libnull$module.so") }

    /** Compiles the library with other options, for another JVM or another file name. */
    fun compile(
        name: String,
        vararg options: String,
    ): Path {
        val c = root / "core-java/src/test/c"
        val file = Path.of(StandInLibrary::class.java.protectionDomain.codeSource.location.toURI()).resolveSibling(name)
        val sources = listOf(c, c / "driver", root / "$module/src/test/c").flatMap { it.listDirectoryEntries("*.c") }
        val usual =
            listOf("-Dibv_modify_qp=null_modify_qp", "-I", "$c", "-Wall", "-Wextra", "-Werror", "-O2", "-shared")
        run(listOf("gcc") + options + usual + listOf("-fPIC", "-o", "$file") + sources.map { "$it" })
        return file
    }

    private val symbols by lazy {
        System.setProperty("kverbs.libibverbs", "$library")
        System.setProperty("kverbs.lib$module", "$library")
        SymbolLookup.libraryLookup(library, Arena.global())
    }
    private val setOption by lazy { function("driver_set", FunctionDescriptor.ofVoid(JAVA_INT, JAVA_INT)) }
    private val setNull by lazy { function("null_set", FunctionDescriptor.ofVoid(JAVA_INT, JAVA_INT)) }
    private val resetDriver by lazy { function("driver_reset", FunctionDescriptor.ofVoid()) }
    private val resetNull by lazy { function("null_reset", FunctionDescriptor.ofVoid()) }
    private val text by lazy { function("driver_calls", FunctionDescriptor.of(ADDRESS)) }
    private val liveObjects by lazy { function("null_live", FunctionDescriptor.of(JAVA_INT, JAVA_INT)) }
    private val completeOne by lazy {
        function("null_complete_as", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT))
    }
    private var read = 0

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

    /** Makes an object of this kind stay, with EBUSY, or none. */
    fun keep(kind: Kind?) {
        setNull.invokeWithArguments(KEEP_KIND, kind?.ordinal ?: -1)
        setNull.invokeWithArguments(KEEP_ERRNO, EBUSY)
    }

    /** Returns the calls since the last call of this function. */
    fun calls(): List<String> {
        val all = (text.invokeWithArguments() as MemorySegment).reinterpret(Long.MAX_VALUE).getString(0)
        return all.lines().dropLast(1).drop(read).also { read += it.size }
    }

    /** Puts the completion of a receive into a queue. */
    fun receive(
        queue: CompletionQueue,
        id: Long,
    ) = complete(queue, id, RECV)

    /** Puts the completion of a send into a queue. */
    fun send(
        queue: CompletionQueue,
        id: Long,
    ) = complete(queue, id, 0)

    private fun complete(
        queue: CompletionQueue,
        id: Long,
        opcode: Int,
    ) = queue.callNative<Unit> { check(completeOne.invokeWithArguments(it.address(), id, opcode) == 0) }

    fun live(kind: Kind): Int = liveObjects.invokeWithArguments(kind.ordinal) as Int

    private fun reset() {
        resetDriver.invokeWithArguments()
        resetNull.invokeWithArguments()
        setNull.invokeWithArguments(EXTENDED, 1)
        read = 0
    }

    fun open(): Context {
        symbols
        return Device.list().first { it.name() == "null0" }.open()
    }

    fun FunSpec.onStandIn() {
        beforeTest { reset() }
        afterTest { Kind.entries.associateWith { live(it) }.filterValues { it != 0 }.shouldBeEmpty() }
    }
}

private const val EXTENDED = 0
private const val KEEP_KIND = 5
private const val KEEP_ERRNO = 6
private const val EBUSY = 16
private const val RECV = 128

/** Runs a program to its end and returns what it printed. */
internal fun run(command: List<String>): String {
    val process = ProcessBuilder(command).redirectErrorStream(true).start()
    val output = process.inputStream.readAllBytes().decodeToString()
    check(process.waitFor() == 0) { "${command.joinToString(" ")} failed:\n$output" }
    return output
}
