package org.kverbs.cm

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.Device
import org.kverbs.NullVerbs
import org.kverbs.RdmaSystemException
import org.kverbs.internal.abi.CCompiler
import org.kverbs.internal.abi.runProgram
import java.lang.foreign.Arena
import java.lang.foreign.FunctionDescriptor
import java.lang.foreign.Linker
import java.lang.foreign.SymbolLookup
import java.lang.foreign.ValueLayout.JAVA_INT
import java.nio.file.Path
import java.time.Duration
import kotlin.io.path.div
import kotlin.reflect.KClass

/** Tests on a librdmacm that connects nothing (`src/test/c/rdmacm`), of rdma-core 60 and of an older release. */
internal class ConnectionLibrarySpec :
    FunSpec({
        test("should call what librdmacm has since rdma-core 60, and free all that it gets") {
            ConnectionLibraryProgram.run(release = 60) shouldContainExactly
                listOf(
                    "devices: [null0]",
                    "USER, status -5, on connection id (TCP) with argument -9223372036854775807",
                    "ADDRINFO_RESOLVED on connection id (TCP) with argument 0",
                    "RC /10.0.0.1:7471",
                    "rdma_query_addrinfo ENOENT",
                    "rdma_resolve_addrinfo ENOENT",
                    "synchronous connection id (TCP): USER 1",
                    "left behind: 0",
                )
        }

        test("should name the release where an older library lacks these functions, and go on with the others") {
            val lines = ConnectionLibraryProgram.run(release = 44)
            lines.first() shouldBe "devices: [null0]"
            lines.last() shouldBe "left behind: 0"
            val refusals = lines.filter { "since rdma-core 60" in it }
            refusals.map { it.substringBefore('(') }.distinct() shouldContainExactly
                listOf("rdma_write_cm_event", "rdma_resolve_addrinfo", "rdma_query_addrinfo")
            refusals.forEach { it shouldContain "failed: ENOSYS (Function not implemented). provider native does not" }
        }

        test("should say that the kernel does not know the call where the library has it") {
            val lines = ConnectionLibraryProgram.run(release = 60, kernel = 0)
            lines[1] shouldContain
                "rdma_write_cm_event(status=-5, arg=-9223372036854775807) failed: EINVAL (Invalid argument). The kernel"
            lines[2] shouldContain "The kernel must know the command"
            lines.last() shouldBe "left behind: 0"
        }
    })

/** Makes each call once, and prints the results. */
internal object ConnectionLibraryProgram {
    @JvmStatic
    fun main(arguments: Array<String>) {
        ConnectionEventChannel.open().use { channel ->
            println("devices: ${channel.devices().map { it.name() }}")
            channel.id(PortSpace.TCP).use { id ->
                attempt { id.writeEvent(-5, Long.MIN_VALUE + 1) }?.let { println(show(channel)) }
                val lookup = id.addressLookup()
                attempt { lookup.resolve("10.0.0.1", "7471", AddressHints.active(PortSpace.TCP)) }?.let {
                    println(show(channel))
                    lookup.query().forEach { found -> println("${found.queuePairType()} ${found.destination()}") }
                }
                attempt { lookup.query() }
                attempt { lookup.resolve("nobody", "7471", AddressHints.active(PortSpace.TCP)) }
                attempt { lookup.resolve("10.0.0.1", "7471", AddressHints.active(PortSpace.TCP)) } // nobody queries it
            }
            SynchronousConnectionId.of(channel.id(PortSpace.TCP)).use { alone ->
                attempt { alone.id().writeEvent(0, 1) }?.let {
                    val event = checkNotNull(alone.id().channel().awaitEvent(Duration.ofSeconds(5)))
                    println("$alone: ${event.type()} ${event.argument()}")
                }
            }
        }
        println("left behind: ${live(arguments.single())}")
    }

    private fun attempt(call: () -> Unit): Unit? =
        try {
            call()
        } catch (e: RdmaSystemException) {
            println(if (e.errnoName() == "ENOENT") "${e.operation()} ${e.errnoName()}" else e.message)
            null
        }

    private fun show(channel: ConnectionEventChannel): String {
        val event = checkNotNull(channel.awaitEvent(Duration.ofSeconds(5)))
        return "$event with argument ${event.argument()}"
    }

    private fun live(library: String): Int {
        val symbols = SymbolLookup.libraryLookup(Path.of(library), Arena.global())
        val function = symbols.findOrThrow("null_live")
        return Linker
            .nativeLinker()
            .downcallHandle(function, FunctionDescriptor.of(JAVA_INT))
            .invokeWithArguments() as Int
    }

    /** Runs it on the library of a release; gives the lines. */
    fun run(
        release: Int,
        kernel: Int = 1,
    ): List<String> {
        CCompiler.require(listOf("rdma/rdma_cma.h"))
        val library = placeOf(ConnectionLibraryProgram::class).resolveSibling("libnullrdmacm$release-$kernel.so")
        val source = Path.of(System.getProperty("kverbs.root")) / "core-java/src/test/c/rdmacm/nullrdmacm.c"
        val options = listOf("-DNULL_RELEASE=$release", "-DNULL_KERNEL=$kernel", "-Wall", "-Wextra", "-Werror", "-O2")
        runProgram("gcc", *options.toTypedArray(), "-shared", "-fPIC", "-o", "$library", "$source")
        val java = Path.of(System.getProperty("java.home"), "bin", "java").toString()
        val classPath =
            listOf<KClass<*>>(ConnectionLibraryProgram::class, Device::class, Unit::class).joinToString(":") {
                placeOf(it).toString()
            }
        val flags =
            listOf(
                "--enable-native-access=ALL-UNNAMED",
                "-Dkverbs.libibverbs=${NullVerbs.library}",
                "-Dkverbs.librdmacm=$library",
            )
        val program =
            listOf(java) + flags + listOf("-cp", classPath, ConnectionLibraryProgram::class.java.name, "$library")
        return runProgram(*program.toTypedArray()).trim().lines()
    }

    private fun placeOf(type: KClass<*>) = Path.of(type.java.protectionDomain.codeSource.location.toURI())
}
