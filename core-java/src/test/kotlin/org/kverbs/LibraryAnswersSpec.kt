package org.kverbs

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldStartWith
import org.kverbs.NullVerbs.onNullDevice
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.AsyncEventType
import org.kverbs.attributes.Gid
import org.kverbs.attributes.GidType
import org.kverbs.attributes.LinkLayer
import org.kverbs.attributes.PortState
import org.kverbs.attributes.QueuePairType
import org.kverbs.cm.ConnectionEventChannel
import org.kverbs.internal.abi.runProgram
import java.nio.file.Path
import java.time.Duration
import kotlin.reflect.KClass

/**
 * Tests the messages for a libibverbs that is absent, forbidden or old. A JVM loads its library once, so some cases
 * start another JVM.
 */
class LibraryAnswersSpec :
    FunSpec({
        onNullDevice()

        test("should name the package when the library is not there, and load none before a device is asked for") {
            val answer = ChildProgram.run("-Dkverbs.libibverbs=/nonexistent/libibverbs.so.1", ENABLED)
            answer.lines()[0] shouldBe "no library is needed for mem:1:2:3"
            answer.lines()[1] shouldStartWith
                "org.kverbs.LibraryUnavailableException: cannot load /nonexistent/libibverbs.so.1 ("
            answer.lines()[1] shouldContain "Install package libibverbs1 (Debian, Ubuntu) or libibverbs (Fedora, RHEL)"
            answer.lines()[1] shouldContain "The embedded device needs no hardware"
            answer.lines()[1] shouldContain "add org.kverbs:kverbs-embedded"
        }

        test("should not invent a package for a library of another name") {
            val answer = ChildProgram.run("-Dkverbs.libibverbs=/nonexistent/libnullverbs.so", ENABLED)
            answer.lines()[1] shouldContain "cannot load /nonexistent/libnullverbs.so ("
            answer.lines()[1] shouldContain "The file should be a shared library of rdma-core, for this processor."
        }

        test("should say the same of a file that is no library") {
            val noLibrary = Path.of(System.getProperty("kverbs.root"), "core-java/pom.xml")
            ChildProgram.run("-Dkverbs.libibverbs=$noLibrary", ENABLED) shouldContain
                "\norg.kverbs.LibraryUnavailableException: cannot load $noLibrary ("
        }

        test("should name the flag when native access is denied") {
            val answer = ChildProgram.run("-Dkverbs.libibverbs=${NullVerbs.library}", "--illegal-native-access=deny")
            answer.lines()[1] shouldStartWith
                "org.kverbs.LibraryUnavailableException: this Java process denies native access, which " +
                "${NullVerbs.library} needs ("
            answer.lines()[1] shouldContain "Start java with --enable-native-access=ALL-UNNAMED"
        }

        test("should name the package of librdmacm when that is not there, and go on without connections") {
            val answer =
                ChildProgram.run(
                    "-Dkverbs.libibverbs=${NullVerbs.library}",
                    "-Dkverbs.librdmacm=/nonexistent/librdmacm.so.1",
                    ENABLED,
                )
            answer.lines()[1] shouldBe "[null0 (0200:0000:0000:0001)]"
            answer.lines()[2] shouldStartWith
                "org.kverbs.LibraryUnavailableException: cannot load /nonexistent/librdmacm.so.1 ("
            answer.lines()[2] shouldContain "Install package librdmacm1 (Debian, Ubuntu) or librdmacm (Fedora, RHEL)"
        }

        test("should say so when the library for connections is another") {
            val answer =
                ChildProgram.run(
                    "-Dkverbs.libibverbs=${NullVerbs.library}",
                    "-Dkverbs.librdmacm=${NullVerbs.library}",
                    ENABLED,
                )
            answer.lines()[2] shouldBe
                "org.kverbs.LibraryUnavailableException: rdma_create_event_channel is in every release of that " +
                "library, and ${NullVerbs.library} lacks it: it is another library, or a broken one."
        }

        test("should list the devices of the library that the property names") {
            ChildProgram.run("-Dkverbs.libibverbs=${NullVerbs.library}", ENABLED).lines()[1] shouldBe
                "[null0 (0200:0000:0000:0001)]"
        }

        test("should say which release has a function that this library lacks, and go on with the others") {
            NullBench().use { bench ->
                val missing = shouldThrow<LibraryUnavailableException> { ForkStatus.ofThisProcess() }
                missing.message shouldStartWith "ibv_is_fork_initialized needs rdma-core 35 or newer, and the " +
                    "${NullVerbs.library} of this machine lacks it."
                bench.context.queryGidEntry(1, 0).type() shouldBe GidType.ROCE_V2
            }
        }

        test(
            "should register memory at its own address only where the library knows of no other, and say which " +
                "release does",
        ) {
            NullBench().use { bench ->
                val memory = bench.mr.memory()
                shouldThrow<LibraryUnavailableException> {
                    bench.pd.registerAt(
                        0x7000_0000,
                        memory,
                    )
                }.message shouldStartWith
                    "ibv_reg_mr_iova2 needs rdma-core 28 or newer, and the ${NullVerbs.library} of this machine " +
                    "lacks it. Upgrade "
                shouldThrow<LibraryUnavailableException> {
                    bench.pd.registerAt(
                        memory.address(),
                        memory,
                        AccessFlag.ZERO_BASED,
                    )
                }
                NullVerbs.live(NullVerbs.Kind.MR) shouldBe 1
                bench.pd.registerAt(memory.address(), memory).remote().address() shouldBe memory.address()
                bench.pd.register(memory, AccessFlag.ZERO_BASED).remote().address() shouldBe 0
            }
        }

        test("should say which release tells whether data comes in order") {
            NullBench().use { bench ->
                val qp = bench.queuePair()
                shouldThrow<LibraryUnavailableException> {
                    qp.isDataInOrder(
                        WorkRequestOpcode.RDMA_WRITE,
                    )
                }.message shouldContain
                    "ibv_query_qp_data_in_order needs rdma-core 36 or newer"
            }
        }

        test("should say that a library without extended calls has no extended queues") {
            NullBench(extended = false).use { bench ->
                val cq =
                    shouldThrow<RdmaSystemException> {
                        bench.context.completionQueue(
                            CompletionQueueAttributes.of(1).asExtended(),
                        )
                    }
                val qp =
                    shouldThrow<RdmaSystemException> {
                        bench.pd.queuePair(QueuePairInitAttributes.of(QueuePairType.RC, bench.cq).asExtended())
                    }
                listOf(cq, qp).map { it.operation() to it.errnoName() } shouldBe
                    listOf("ibv_create_cq_ex" to "EOPNOTSUPP", "ibv_create_qp_ex" to "EOPNOTSUPP")
            }
        }

        test("should say EIO where the driver does not say why it failed, whatever an earlier call left in errno") {
            NullBench().use { bench ->
                shouldThrow<RdmaSystemException> { bench.context.queryGid(1, 1) }.errnoName() shouldBe "EINVAL"
                NullVerbs.set(NullVerbs.Option.MUTE, 1)
                shouldThrow<RdmaSystemException> { bench.context.queryGid(1, 1) }.errnoName() shouldBe "EIO"
                shouldThrow<RdmaSystemException> {
                    bench.context.completionQueue(CompletionQueueAttributes(64, null, 1))
                }.errnoName() shouldBe "EIO"
            }
        }

        listOf(true, false).forEach { extended ->
            test(
                "should query a device " +
                    "${if (extended) "by the extended calls" else "whose context has no extended calls"}",
            ) {
                NullBench(extended).use { bench ->
                    val port = bench.context.queryPort(1)
                    port.state() shouldBe PortState.ACTIVE
                    port.linkLayer() shouldBe LinkLayer.ETHERNET
                    bench.context.queryDevice().physPortCnt() shouldBe 1
                    bench.context.queryDeviceEx().original().physPortCnt() shouldBe 1
                    bench.context.queryGid(1, 0) shouldBe Gid.parse("::ffff:10.0.0.1")
                    bench.context.pkeyIndex(1, 0xffff) shouldBe 0
                    shouldThrow<RdmaSystemException> { bench.context.queryPort(2) }.errnoName() shouldBe "EINVAL"
                    shouldThrow<RdmaSystemException> { bench.context.queryGid(1, 1) }.errnoName() shouldBe "EINVAL"
                }
            }
        }

        test(
            "should acknowledge the asynchronous events that it gives, as an object with one that isn't can't be " +
                "destroyed",
        ) {
            NullBench().use { bench ->
                val srq = bench.sharedReceiveQueue()
                val qp = bench.queuePair()
                val sources =
                    mapOf(
                        AsyncEventType.QP_FATAL to qp.handle(),
                        AsyncEventType.SRQ_ERR to srq.handle(),
                        AsyncEventType.CQ_ERR to bench.cq.handle(),
                    )
                sources.forEach { (type, source) -> NullVerbs.raise(type, source) }
                List(3) { bench.context.awaitAsyncEvent(Duration.ZERO) }.map { it?.type() to it?.source() } shouldBe
                    listOf(
                        AsyncEventType.QP_FATAL to qp,
                        AsyncEventType.SRQ_ERR to srq,
                        AsyncEventType.CQ_ERR to bench.cq,
                    )
                bench.context.awaitAsyncEvent(Duration.ZERO) shouldBe null
            }
        }
    })

private const val ENABLED = "--enable-native-access=ALL-UNNAMED"

/** Uses a class that needs no library and then one that needs it. Prints the results. */
internal object ChildProgram {
    @JvmStatic
    fun main(arguments: Array<String>) {
        check(arguments.isEmpty())
        println("no library is needed for " + RemoteMemory(1, 2, 3).toText())
        println(runCatching { Device.list() }.getOrElse { it })
        println(runCatching { ConnectionEventChannel.open() }.getOrElse { it })
    }

    /** Runs it in a JVM with these options. */
    fun run(vararg options: String): String {
        val java = Path.of(System.getProperty("java.home"), "bin", "java").toString()
        val classPath =
            listOf<KClass<*>>(ChildProgram::class, Device::class, Unit::class).joinToString(":") {
                placeOf(it.java)
            }
        return runProgram(java, *options, "-cp", classPath, ChildProgram::class.java.name)
    }

    private fun placeOf(type: Class<*>) = Path.of(type.protectionDomain.codeSource.location.toURI()).toString()
}
