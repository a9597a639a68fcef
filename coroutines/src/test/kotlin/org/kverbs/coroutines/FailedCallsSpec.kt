package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldExist
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.types.shouldBeInstanceOf
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import org.kverbs.RdmaSystemException
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionOpcode
import org.kverbs.WorkCompletionStatus
import org.kverbs.WorkRequestException
import org.kverbs.dsl.get
import org.kverbs.dsl.read
import org.kverbs.dsl.write
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.embedded.Errno
import org.kverbs.embedded.Failure
import org.kverbs.embedded.Operation
import java.nio.file.Path
import java.util.IdentityHashMap

/** Tests the exceptions of failed calls. */
class FailedCallsSpec :
    FunSpec({
        timeout = 120_000

        for (options in listOf(listOf("-da"), listOf("-ea"), listOf("-da", "-Dkotlinx.coroutines.debug=on"))) {
            val output by lazy { outputOf(options) }

            fun frames(
                of: String,
                index: Int,
            ) = output.substringAfter("== $of\n").substringBefore("\n==").lines().filter { it.startsWith("$index at ") }

            test("should name the caller of a write that failed, in a JVM with ${options.joinToString(" ")}") {
                frames("write", 0) shouldExist { "FailingProgram" in it && "writeIntoNothing" in it }
                frames("write", 0) shouldExist { "FailingProgram" in it && "main" in it }
            }

            test(
                "should name the caller of a receive whose queue pair was closed, in a JVM with ${options.joinToString(
                    " ",
                )}",
            ) {
                frames("receive", 0) shouldExist { "FailingProgram" in it && "receiveForEver" in it }
                frames("receive", 0) shouldExist { "FailingProgram" in it && "receiveAndClose" in it }
            }

            test(
                "should name the caller of a write that another coroutine awaits, in a JVM with " +
                    "${options.joinToString(" ")}",
            ) {
                frames("awaited", 0) shouldExist { "FailingProgram" in it && "writeIntoNothing" in it }
                if (options != listOf("-da")) {
                    frames("awaited", 0) shouldExist { "FailingProgram" in it && "awaitTheWrite" in it }
                }
            }

            test(
                "should name the caller of a connect whose host was closed, in a JVM with ${options.joinToString(" ")}",
            ) {
                frames("connect", 0) shouldExist { "FailingProgram" in it && "connectForEver" in it }
            }

            // Only debug mode can: a select clause does not see the continuation of its caller.
            if (options != listOf("-da")) {
                test("should name the caller of a select by debug mode, in a JVM with ${options.joinToString(" ")}") {
                    frames("select", 0) shouldExist { "FailingProgram" in it && "selectForEver" in it }
                }
            }

            for (call in FailingProgram.calls.keys) {
                test(
                    "should name the caller of a message channel that the peer closed ($call), in a JVM with " +
                        "${options.joinToString(
                            " ",
                        )}",
                ) {
                    frames(call, 0) shouldExist { "FailingProgram" in it && call in it }
                    for (other in FailingProgram.calls.keys - call) {
                        frames(
                            call,
                            0,
                        ).filter { ".$other" in it }.shouldBeEmpty()
                    }
                }

                test(
                    "should name the caller of a message channel that was closed before ($call), in a JVM with " +
                        "${options.joinToString(
                            " ",
                        )}",
                ) {
                    frames("$call after the close", 0) shouldExist { "FailingProgram" in it && call in it }
                }
            }
        }

        test("should give each call an exception of its own, with the first failure as its cause") {
            TwoEnds().use { ends ->
                val gone = ends.server.region.remote()
                ends.server.region.close()
                val failures =
                    coroutineScope {
                        List(4) {
                            async(start = CoroutineStart.UNDISPATCHED) {
                                runCatching {
                                    ends.client.qp.write(
                                        ends.client.region[0, 8],
                                        to = gone,
                                    )
                                }.exceptionOrNull()!!
                            }
                        }.awaitAll()
                    }
                distinct(failures) shouldHaveSize 4
                failures[0].cause.shouldBeNull()
                for (flushed in failures.drop(1)) {
                    flushed.shouldBeInstanceOf<WorkCompletionException>().status() shouldBe
                        WorkCompletionStatus.WR_FLUSH_ERR
                    flushed.cause.shouldBeInstanceOf<WorkCompletionException>().status() shouldBe
                        WorkCompletionStatus.REM_ACCESS_ERR
                }
            }
        }

        test("should give each wait that a close ends, and each later call, an exception of its own") {
            TwoEnds(settings = { maxRecvWr(2) }).use { ends ->
                val failures =
                    coroutineScope {
                        val waits =
                            List(5) {
                                async(start = CoroutineStart.UNDISPATCHED) {
                                    runCatching { ends.client.qp.receive(ends.client.region[0, 8]) }.exceptionOrNull()!!
                                }
                            }
                        ends.client.qp.close()
                        waits.awaitAll()
                    } +
                        List(
                            2,
                        ) { shouldThrow<IllegalStateException> { ends.client.qp.receive(ends.client.region[0, 8]) } } +
                        List(2) { shouldThrow<IllegalStateException> { ends.client.qp.send(ends.client.region[0, 8]) } }
                distinct(failures) shouldHaveSize 9
                failures.forEach { it.shouldBeInstanceOf<IllegalStateException>().message shouldContain "was closed" }
            }
        }

        for ((operation, what) in mapOf(
            Operation.POST_SEND to "a request",
            Operation.REGISTER_MEMORY to "memory for what comes",
        )) {
            test(
                "should give each wait that ends because the device refuses $what an exception of its own with its " +
                    "caller",
            ) {
                EmbeddedFabric.realTime(1).use { fabric ->
                    val device = fabric.addDevice()
                    TwoChannels(
                        { keepAlive(null) },
                        clientDevice = device.open(),
                        serverDevice = fabric.addDevice().open(),
                    ).use { ends ->
                        coroutineScope {
                            suspend fun receiveHere(): Throwable =
                                shouldThrow<RdmaSystemException> {
                                    ends.client.receive()
                                    delay(1) // so that the call above is not a tail call
                                }
                            val waits = List(3) { async(start = CoroutineStart.UNDISPATCHED) { receiveHere() } }
                            fabric.inject(device, Failure.of(operation, Errno.ENOMEM))
                            if (operation == Operation.POST_SEND) {
                                shouldThrow<WorkRequestException> { ends.client.send(ByteArray(1)) }
                            } else {
                                ends.server.send(ByteArray(100_000))
                            }
                            val failures = waits.awaitAll() + List(3) { receiveHere() }
                            distinct(failures) shouldHaveSize 6
                            for (failure in failures) {
                                failure.message shouldContain "A test injected it"
                                failure.stackTrace.toList() shouldExist
                                    { "receiveHere" in it.methodName || "receiveHere" in it.className }
                                failure.addSuppressed(IllegalStateException("what a use block adds"))
                            }
                            val shared = failures.map { generateSequence(it) { each -> each.cause }.last() }
                            distinct(shared) shouldHaveSize 1
                            shared[0].suppressed.toList().shouldBeEmpty()
                        }
                    }
                }
            }
        }

        test("should fail a batch with the first of its requests that failed") {
            TwoEnds().use { ends ->
                val open = ends.server.region.remote()
                val gone = ends.server.pd.memoryRegion(64).use { it.remote() }
                val local = ends.client.region
                val failure =
                    shouldThrow<WorkCompletionException> {
                        ends.client.qp.batch {
                            write(local[0, 8], to = open)
                            write(local[0, 8], to = gone)
                            read(open, into = local[8, 8])
                            read(open, into = local[8, 8])
                        }
                    }
                failure.status() shouldBe WorkCompletionStatus.REM_ACCESS_ERR
                failure.opcode() shouldBe WorkCompletionOpcode.RDMA_WRITE
                failure.cause.shouldBeNull()
            }
        }

        test("should report a batch as flushed if a request before it failed") {
            TwoEnds().use { ends ->
                val open = ends.server.region.remote()
                val gone = ends.server.pd.memoryRegion(64).use { it.remote() }
                val local = ends.client.region
                coroutineScope {
                    val first =
                        async(
                            start = CoroutineStart.UNDISPATCHED,
                        ) { runCatching { ends.client.qp.write(local[0, 8], to = gone) } }
                    val failure =
                        shouldThrow<WorkCompletionException> {
                            ends.client.qp.batch { repeat(3) { read(open, into = local[8, 8]) } }
                        }
                    first.await()
                    failure.status() shouldBe WorkCompletionStatus.WR_FLUSH_ERR
                    failure.opcode() shouldBe WorkCompletionOpcode.RDMA_READ
                    failure.cause.shouldBeInstanceOf<WorkCompletionException>().status() shouldBe
                        WorkCompletionStatus.REM_ACCESS_ERR
                }
            }
        }
    })

private fun distinct(failures: List<Throwable>): Set<Throwable> =
    IdentityHashMap<Throwable, Unit>()
        .apply {
            failures.forEach { put(it, Unit) }
        }.keys

private fun outputOf(options: List<String>): String {
    val java = Path.of(System.getProperty("java.home"), "bin", "java").toString()
    val program = listOf("-cp", System.getProperty("java.class.path"), "org.kverbs.coroutines.FailingProgram")
    val process =
        ProcessBuilder(
            listOf(java, "--enable-native-access=ALL-UNNAMED") + options + program,
        ).redirectErrorStream(true).start()
    val output = process.inputReader().readText()
    check(process.waitFor() == 0) { output }
    return output
}
