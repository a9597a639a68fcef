package org.kverbs.embedded

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import org.kverbs.Device
import org.kverbs.MemoryRegion
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletionStatus
import org.kverbs.WorkCompletions
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.AsyncEventType
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.Feature
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType
import java.lang.foreign.Arena
import java.nio.channels.FileChannel
import java.nio.file.Files
import java.nio.file.StandardOpenOption
import java.time.Duration

private const val BYTES = 1L shl 16
private const val PATIENCE = 20_000_000_000
private val ALL =
    arrayOf(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC)

/** A file that is mapped as the memory of a region and then truncated: every touch of it throws an InternalError. */
private class CutFile(
    end: End,
) : AutoCloseable {
    private val path = Files.createTempFile("kverbs-", ".mapped")
    private val file = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE)
    private val arena = Arena.ofShared()
    val mr: MemoryRegion = end.pd.register(file.map(FileChannel.MapMode.READ_WRITE, 0, BYTES, arena), *ALL)

    fun cut() {
        file.truncate(0)
    }

    override fun close() {
        mr.close()
        arena.close()
        file.close()
        Files.delete(path)
    }
}

/** Two devices with a connection that meets broken memory, and another that must not notice. */
private class TwoConnections(
    words: String,
) : AutoCloseable {
    private val devices = Configuration.of(words).devices().map { Device.of(EmbeddedProvider(), it) }
    val near = End(devices[0], QueuePairType.RC, BYTES, features = setOf(Feature.ATOMIC_WRITE))
    val far = End(devices[1], QueuePairType.RC, BYTES)
    private val wellNear = End(devices[0], QueuePairType.RC, BYTES)
    private val wellFar = End(devices[1], QueuePairType.RC, BYTES)

    init {
        join(near, far)
        join(wellNear, wellFar)
    }

    fun others() {
        wellNear.fill(1)
        wellFar.fill(2)
        wellNear.post { write(1, wellFar.mr.remote()).from(wellNear.mr.slice()).signaled() }
        wellNear.await().status() shouldBe WorkCompletionStatus.SUCCESS
        wellFar.bytes() shouldBe wellNear.bytes()
    }

    override fun close() = listOf(near, far, wellNear, wellFar).forEach(End::close)
}

private fun join(
    one: End,
    other: End,
    options: ConnectOptions = ConnectOptions.DEFAULTS,
) {
    one.qp.connect(other.qp.endpoint(options), options)
    other.qp.connect(one.qp.endpoint(options), options)
}

private fun End.await(): WorkCompletion {
    val batch = WorkCompletions(1)
    val begin = System.nanoTime()
    while (cq.poll(batch) == 0) check(System.nanoTime() - begin < PATIENCE) { "no completion within 20 s" }
    return batch.get(0).copy()
}

private fun End.shouldBeBroken() {
    qp.state() shouldBe QueuePairState.ERR
    val event = context.awaitAsyncEvent(Duration.ofSeconds(20)).shouldNotBeNull()
    withClue(event) { (event.type() to event.source()) shouldBe (AsyncEventType.QP_FATAL to qp) }
}

/** Checks memory that is gone while a region still names it: only the queue pair that uses it may notice. */
class BrokenMemorySpec :
    FunSpec({
        val requests =
            mapOf<String, End.(MemoryRegion) -> Unit>(
                "write" to { to -> post { write(1, to.remote()).from(mr.slice()).signaled() } },
                "read" to { from -> post { read(1, from.remote()).into(mr.slice()).signaled() } },
                "atomic" to { at -> post { fetchAndAdd(1, at.remote(), 1).into(mr.slice(0, 8)).signaled() } },
                "atomic write" to { at -> post { atomicWrite(1, at.remote(), 1).signaled() } },
                "send" to { post { send(1).from(mr.slice()).signaled() } },
            )

        for (words in listOf("memory,memory", "udp,udp")) {
            for ((what, request) in requests) {
                test(
                    "should end one connection and no other when a peer's $what meets a mapping whose file was cut, " +
                        "by $words",
                ) {
                    TwoConnections(words).use { all ->
                        CutFile(all.far).use { broken ->
                            all.far.qp.postReceive(1, broken.mr.slice())
                            broken.cut()
                            all.near.request(broken.mr)
                            val done = all.near.await()
                            withClue(done) { done.status() shouldBe WorkCompletionStatus.REM_OP_ERR }
                            all.far.shouldBeBroken()
                            all.others()
                        }
                    }
                }
            }

            test(
                "should end one connection and no other when a send reads a mapping whose file was cut, by " +
                    "$words",
            ) {
                TwoConnections(words).use { all ->
                    CutFile(all.near).use { broken ->
                        broken.cut()
                        all.near.post { write(1, all.far.mr.remote()).from(broken.mr.slice()).signaled() }
                        val done = all.near.await()
                        withClue(done) { done.isSuccess shouldBe false }
                        all.near.shouldBeBroken()
                        all.others()
                    }
                }
            }
        }

        test("should throw the error of a mapping whose file was cut at the copy of device memory, and end nothing") {
            TwoConnections("memory,memory").use { all ->
                CutFile(all.near).use { broken ->
                    val device = all.near.context.deviceMemory(BYTES / 4)
                    val mapped = broken.mr.memory().asSlice(0, BYTES / 4)
                    repeat(30_000) { device.copyTo(0, mapped.asSlice(0, 64)) }
                    repeat(30_000) { device.copyFrom(0, mapped.asSlice(0, 64)) }
                    broken.cut()
                    shouldThrow<InternalError> { device.copyTo(0, mapped.asSlice(0, 64)) }
                    shouldThrow<InternalError> { device.copyFrom(0, mapped.asSlice(0, 64)) }
                    all.others()
                }
            }
        }

        for ((words, writes) in mapOf("memory,memory" to 200_000, "udp,udp" to 60_000)) {
            test(
                "should end the right connection, once, when the code is compiled that meets a mapping whose file " +
                    "was cut, by $words",
            ) {
                val devices = Configuration.of(words).devices().map { Device.of(EmbeddedProvider(), it) }
                val options = ConnectOptions.builder().timeout(if (words.startsWith("udp")) 14 else 0).build()
                val near = End(devices[0], QueuePairType.RC, BYTES)
                val far = End(devices[1], QueuePairType.RC, BYTES)
                join(near, far, options)
                CutFile(far).use { broken ->
                    val batch = WorkCompletions(64)

                    fun write() = near.post { write(1, broken.mr.remote()).from(near.mr.slice(0, 64)).signaled() }
                    repeat(writes) {
                        write()
                        while (near.cq.poll(batch) == 0) Thread.onSpinWait()
                    }
                    broken.cut()
                    write()
                    val done = near.await()
                    withClue(done) { done.status() shouldBe WorkCompletionStatus.REM_OP_ERR }
                    near.poll(64) shouldBe emptyList()
                    near.context.awaitAsyncEvent(Duration.ZERO) shouldBe null
                    far.shouldBeBroken()
                }
                listOf(near, far).forEach(End::close)
            }
        }

        test("should let timers run out after one of them met a mapping whose file was cut") {
            EmbeddedFabric.realTime(1).use { fabric ->
                val devices = List(2) { fabric.addDevice() }
                val ends = List(4) { End(devices[it % 2], QueuePairType.RC, BYTES) }
                val options = ConnectOptions.builder().timeout(12).build()
                join(ends[0], ends[1], options)
                join(ends[2], ends[3])
                fabric.setFaults(Faults.NONE.delay(Duration.ofMillis(1))) // each packet arrives by the timer
                CutFile(ends[0]).use { broken ->
                    fabric.linkDown(devices[1])
                    ends[0].post { write(1, ends[1].mr.remote()).from(broken.mr.slice()).signaled() }
                    broken.cut()
                    ends[0].await().isSuccess shouldBe false
                    ends[0].shouldBeBroken()
                    fabric.linkUp(devices[1])
                    ends[2].post { write(1, ends[3].mr.remote()).from(ends[2].mr.slice()).signaled() }
                    val done = ends[2].await()
                    withClue(done) { done.status() shouldBe WorkCompletionStatus.SUCCESS }
                }
                ends.forEach(End::close)
            }
        }
    })
