package org.kverbs.dsl

import io.kotest.assertions.throwables.shouldThrow
import org.kverbs.Context
import java.io.IOException
import java.lang.foreign.Arena
import java.lang.foreign.FunctionDescriptor
import java.lang.foreign.Linker
import java.lang.foreign.SymbolLookup
import java.lang.foreign.ValueLayout.JAVA_INT
import java.nio.file.Path
import kotlin.io.path.listDirectoryEntries

/**
 * The libibverbs of the core's tests, which needs no RDMA (`core-java/src/test/c`). The first use compiles it and loads
 * it into this JVM. If it cannot be compiled, the test fails and names the package to install.
 */
internal object NullVerbs {
    /** NULL_EXTENDED of `enum null_option`: a context has the extended calls. */
    private const val EXTENDED = 0

    /** NULL_COMPLETE of `enum null_option`: each signaled send completes at once. */
    private const val COMPLETE = 1

    private val library: Path by lazy {
        val classes = Path.of(NullVerbs::class.java.protectionDomain.codeSource.location.toURI())
        val file = classes.resolveSibling("libnullverbs.so")
        val sources = Path.of(System.getProperty("kverbs.root"), "core-java/src/test/c").listDirectoryEntries("*.c")
        val command = listOf("gcc", "-O2", "-shared", "-fPIC", "-o") + (listOf(file) + sources).map { it.toString() }
        val compiler =
            try {
                ProcessBuilder(command).redirectErrorStream(true).start()
            } catch (e: IOException) {
                throw IllegalStateException(
                    "gcc is missing: run 'apt-get install gcc libc6-dev libibverbs-dev', or ./verify, which does.",
                    e,
                )
            }
        val output = compiler.inputStream.readAllBytes().decodeToString()
        check(
            compiler.waitFor() == 0,
        ) { "libnullverbs doesn't compile; it needs libc6-dev and libibverbs-dev:\n$output" }
        System.setProperty("kverbs.libibverbs", file.toString())
        file
    }

    private val setOption by lazy {
        val function = SymbolLookup.libraryLookup(library, Arena.global()).findOrThrow("null_set")
        Linker.nativeLinker().downcallHandle(function, FunctionDescriptor.ofVoid(JAVA_INT, JAVA_INT))
    }

    /** Opens null0, with the extended calls or without; its signaled sends complete at once. */
    fun open(extended: Boolean): Context {
        setOption.invokeWithArguments(EXTENDED, if (extended) 1 else 0)
        setOption.invokeWithArguments(COMPLETE, 1)
        return openDevice("null0")
    }
}

/** Runs the block with a fresh null0, and closes it. */
internal fun onNullDevice(
    extended: Boolean = false,
    block: (Context) -> Unit,
) = NullVerbs.open(extended).use(block)

/** Returns the message of the refusal of an argument. */
internal fun refusal(make: () -> Unit): String? = shouldThrow<IllegalArgumentException> { make() }.message
