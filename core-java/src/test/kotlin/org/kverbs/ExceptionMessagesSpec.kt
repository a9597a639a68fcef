package org.kverbs

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldEndWith
import io.kotest.matchers.string.shouldNotContain
import io.kotest.matchers.string.shouldStartWith
import io.kotest.matchers.types.shouldBeInstanceOf
import org.kverbs.attributes.AsyncEventType
import org.kverbs.cm.ConnectionException
import org.kverbs.cm.ConnectionStep
import org.kverbs.cm.ConnectionTimeoutException
import org.kverbs.internal.DeviceNodes
import org.kverbs.internal.abi.IbvWc
import java.io.ByteArrayInputStream
import java.io.ByteArrayOutputStream
import java.io.ObjectInputStream
import java.io.ObjectOutputStream
import java.lang.foreign.ValueLayout.JAVA_INT
import java.net.InetSocketAddress
import java.time.Duration

class ExceptionMessagesSpec :
    FunSpec({
        test("should tell operation, arguments, errno, its text and the advice") {
            val error = RdmaSystemException("ibv_reg_mr(length=65536)", 12, "Ask for less.")

            error.message shouldBe "ibv_reg_mr(length=65536) failed: ENOMEM (Cannot allocate memory). Ask for less."
            error.operation() shouldBe "ibv_reg_mr"
            error.errno() shouldBe 12
            error.errnoName() shouldBe "ENOMEM"
            error.advice() shouldBe "Ask for less."
        }

        test("should keep an errno without a name, and end there without advice") {
            val error = RdmaSystemException("ibv_alloc_pd", 4711, "")

            error.message shouldBe "ibv_alloc_pd failed: errno 4711"
            error.errnoName() shouldBe "errno 4711"
        }

        test("should name the refused work request of a list") {
            val error = WorkRequestException("ibv_post_send", 12, "Poll first.", 2, 5)

            error.message shouldBe
                "ibv_post_send(work request at index 2 of 5) failed: ENOMEM (Cannot allocate memory). Poll first."
            error.index() shouldBe 2
            error.count() shouldBe 5
            error.operation() shouldBe "ibv_post_send"
            WorkRequestException("ibv_bind_mw(window 3)", 22, "", 0, 1).message shouldBe
                "ibv_bind_mw(window 3, work request at index 0 of 1) failed: EINVAL (Invalid argument)"
        }

        test("should say which devices there are when the one asked for is missing") {
            val error = DeviceNotFoundException("name mlx5_9", listOf("rxe0", "siw0"))

            error.message shouldBe "no RDMA device found (asked for: name mlx5_9). This machine has: rxe0, siw0."
            error.asked() shouldBe "name mlx5_9"
            error.available() shouldContainExactly listOf("rxe0", "siw0")
        }

        test("should say how to get a device when there is none") {
            val message = DeviceNotFoundException("any device", emptyList()).message!!

            message shouldContain "asked for: any device"
            message shouldContain "This machine has none"
            message shouldContain "rdma link add rxe0 type rxe netdev eth0"
            message shouldContain "./kverbs lab"
            // It is not on the class path of these tests.
            message shouldContain "add org.kverbs:kverbs-embedded"
            val asked = DeviceNotFoundException("device 'embedded0'", listOf("rxe0"))
            asked.message shouldContain "add org.kverbs:kverbs-embedded"
        }

        test("should tell of a failed completion what failed, where, how and why") {
            val error = WorkCompletionException(10, 1, 0x88, 17, 42)

            error.message shouldBe
                "work request 42 (RDMA_WRITE) on queue pair 17 failed: IBV_WC_REM_ACCESS_ERR, vendor error 0x88: " +
                WorkCompletionStatus.REM_ACCESS_ERR.text()
            error.status() shouldBe WorkCompletionStatus.REM_ACCESS_ERR
            error.opcode() shouldBe WorkCompletionOpcode.RDMA_WRITE
            error.vendorError() shouldBe 0x88
            error.queuePairNumber() shouldBe 17
            error.workRequestId() shouldBe 42
        }

        test("should leave out the operation of a failed completion where it is not known") {
            val unknown = WorkCompletionException(10, WorkCompletionOpcode.UNKNOWN.code(), 0, 17, 42)
            unknown.message shouldStartWith "work request 42 on queue pair 17 failed: IBV_WC_REM_ACCESS_ERR, "
            unknown.opcode() shouldBe WorkCompletionOpcode.UNKNOWN
        }

        test("should not take what a device leaves in a failed completion for its operation") {
            val completions = WorkCompletions(1).apply { fill(1, 0) }
            // Soft-RoCE reports a failed write with opcode 0, which is IBV_WC_SEND.
            val completion = completions.get(0)
            completion.structure().set(JAVA_INT, IbvWc.STATUS.toLong(), WorkCompletionStatus.REM_ACCESS_ERR.code())
            completion.toString() shouldBe "completion(id=0, REM_ACCESS_ERR, qpn=0)"
            val thrown = shouldThrow<WorkCompletionException> { completion.orThrow() }
            thrown.message shouldStartWith "work request 0 on queue pair 0 failed: IBV_WC_REM_ACCESS_ERR, "
            thrown.opcode() shouldBe WorkCompletionOpcode.UNKNOWN
        }

        test("should keep the numbers of an unknown status and opcode") {
            val error = WorkCompletionException(99, 77, 0, 1, -1)

            error.status() shouldBe WorkCompletionStatus.UNKNOWN
            error.rawStatus() shouldBe 99
            error.opcode() shouldBe WorkCompletionOpcode.UNKNOWN
            error.rawOpcode() shouldBe 77
            error.message shouldContain "work request -1 on queue pair 1 failed: status 99"
        }

        AsyncEventType.entries.filter { it.isError }.forEach { type ->
            test("should say after the event $type what to do") {
                val error = AsyncEventException(type, "port 1 of rxe0")

                error.message shouldStartWith "asynchronous event $type on port 1 of rxe0. "
                error.type() shouldBe type
                error.element() shouldBe "port 1 of rxe0"
            }
        }

        test("should give no advice on an event that is mere news") {
            AsyncEventException(AsyncEventType.PORT_ACTIVE, "port 1").message shouldBe
                "asynchronous event PORT_ACTIVE on port 1."
        }

        test("should stay in one tree, and survive serialization with its accessors") {
            val errors =
                listOf(
                    RdmaSystemException("ibv_alloc_pd", 12, "x"),
                    WorkRequestException("ibv_post_recv", 12, "x", 1, 2),
                    WorkCompletionException(5, 0, 0, 1, 2),
                    DeviceNotFoundException("any device", listOf("rxe0")),
                    AsyncEventException(AsyncEventType.CQ_ERR, "a queue"),
                    LibraryUnavailableException.functionMissing("libibverbs.so.1", "ibv_x", 65),
                    ConnectionException(ConnectionStep.RESOLVE_ROUTE, InetSocketAddress("10.0.0.1", 7471), 5, "why."),
                    ConnectionTimeoutException(ConnectionStep.CONNECT, null, Duration.ofMillis(20)),
                )
            errors.forEach { error ->
                val copy = serializedCopy(error)
                copy.shouldBeInstanceOf<RdmaException>()
                copy::class shouldBe error::class
                copy.message shouldBe error.message
            }
            (serializedCopy(errors[3]) as DeviceNotFoundException).available() shouldContainExactly listOf("rxe0")
        }

        test("should name the package of each library that is not there") {
            mapOf(
                "libibverbs.so.1" to "Install package libibverbs1 (Debian, Ubuntu) or libibverbs (Fedora, RHEL)",
                "librdmacm.so.1" to "Install package librdmacm1 (Debian, Ubuntu) or librdmacm (Fedora, RHEL)",
                "/opt/lib/libibumad.so.3" to "Install package libibumad3 (Debian, Ubuntu) or libibumad (Fedora, RHEL)",
            ).forEach { (library, advice) ->
                val error = LibraryUnavailableException.notFound(library, IllegalArgumentException("no such file"))
                error.message shouldContain "cannot load $library (no such file). $advice"
                error.library() shouldBe library
                error.cause.shouldBeInstanceOf<IllegalArgumentException>()
            }
        }

        test("should not invent a package for a file that is not named like one") {
            val error = LibraryUnavailableException.notFound("/opt/broken", IllegalArgumentException("not an ELF file"))
            error.message shouldContain "cannot load /opt/broken (not an ELF file)"
            error.message shouldNotContain "Install package"
        }

        test("should say from which release on a library has a function") {
            LibraryUnavailableException
                .functionMissing(
                    "libibverbs.so.1",
                    "_ibv_query_gid_ex",
                    32,
                ).message shouldContain
                "_ibv_query_gid_ex needs rdma-core 32 or newer, and the libibverbs.so.1 of this machine lacks it. " +
                "Upgrade that library " +
                "(`dpkg -l libibverbs1` or `rpm -q libibverbs` shows its version)"
            LibraryUnavailableException
                .functionMissing(
                    "/opt/lib/librdmacm.so.1",
                    "rdma_establish",
                    23,
                ).message shouldContain
                "(`dpkg -l librdmacm1` or `rpm -q librdmacm` shows its version)"
            LibraryUnavailableException.functionMissing("/opt/broken", "rdma_connect", 0).message shouldBe
                "rdma_connect is in every release of that library, and /opt/broken lacks it: it is another library, " +
                "or a broken one."
        }

        test("should say of a step that nobody answered which it was, to whom, for how long, and what to do") {
            val address = InetSocketAddress("10.0.0.1", 7471)
            ConnectionStep.entries.forEach { step ->
                val message = ConnectionTimeoutException(step, address, Duration.ofMillis(250)).message!!
                message shouldStartWith "${step.phrase()} 10.0.0.1:7471 failed: no event came within 250 ms. "
                message.substringAfter(" ms. ").length shouldBeGreaterThan 20
            }
        }

        test(
            "should name the devices that libibverbs cannot drive, their nodes, and the packages with provider " +
                "libraries",
        ) {
            val message = LibraryUnavailableException.providerMissing(listOf("mlx5_0", "rxe0")).message!!
            message shouldContain "devices that the kernel has: mlx5_0, rxe0."
            message shouldContain "nodes are missing: ${DeviceNodes.describe()}"
            message shouldContain "ibverbs-providers (Debian, Ubuntu) or libibverbs (Fedora, RHEL)"
        }

        test("should name the flag when native access is denied") {
            val denial = IllegalCallerException("Illegal native access from: unnamed module")
            val error = LibraryUnavailableException.nativeAccessDenied("libibverbs.so.1", denial)
            error.message shouldContain "--enable-native-access=ALL-UNNAMED"
            error.message shouldEndWith "the manifest of a runnable jar."
            error.cause shouldBe denial
        }
    })

private fun serializedCopy(error: RdmaException): Any {
    val bytes = ByteArrayOutputStream()
    ObjectOutputStream(bytes).use { it.writeObject(error) }
    return ObjectInputStream(ByteArrayInputStream(bytes.toByteArray())).use { it.readObject() }
}
