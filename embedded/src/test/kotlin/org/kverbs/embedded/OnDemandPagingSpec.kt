package org.kverbs.embedded

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.longs.shouldBeInRange
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.Device
import org.kverbs.MemoryRegion
import org.kverbs.MemoryWindow
import org.kverbs.RdmaSystemException
import org.kverbs.WorkCompletionStatus
import org.kverbs.WorkCompletionStatus.LOC_PROT_ERR
import org.kverbs.WorkCompletionStatus.REM_ACCESS_ERR
import org.kverbs.WorkCompletionStatus.REM_OP_ERR
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.AccessFlag.FLUSH_GLOBAL
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.AccessFlag.MW_BIND
import org.kverbs.attributes.AccessFlag.ON_DEMAND
import org.kverbs.attributes.AccessFlag.REMOTE_READ
import org.kverbs.attributes.AccessFlag.REMOTE_WRITE
import org.kverbs.attributes.Feature
import org.kverbs.attributes.FlushPlacement
import org.kverbs.attributes.MemoryAdvice.PREFETCH
import org.kverbs.attributes.MemoryAdvice.PREFETCH_NO_FAULT
import org.kverbs.attributes.MemoryAdvice.PREFETCH_WRITE
import org.kverbs.attributes.MemoryWindowType
import org.kverbs.attributes.QueuePairState
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment
import java.nio.channels.FileChannel
import java.nio.file.Files
import java.nio.file.StandardOpenOption.DELETE_ON_CLOSE
import java.nio.file.StandardOpenOption.READ
import java.nio.file.StandardOpenOption.WRITE

private const val PAGE = 4096L

/** No process maps so low an address on its own, and none at the end of the lower half. */
private val HOLES = listOf(0x2_0000L, 0x7fff_ffff_0000L)

private val PAGED = arrayOf(LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, ON_DEMAND)

private val Device.faults get() = counters().getValue("page_faults")

private val Device.prefetched get() = counters().getValue("page_prefetch")

/** Lists regions on memory that is not there: where a card reports an error, this device must not end the JVM. */
class OnDemandPagingSpec :
    FunSpec({
        fun sentence(
            name: String,
            body: Pair.() -> Unit,
        ) = test(name) { Pair(EmbeddedFabric.virtual(1)).use(body) }

        fun Pair.write(
            region: MemoryRegion,
            offset: Long,
            length: Int,
        ): WorkCompletionStatus {
            a.post { write(1, region.remote().at(offset)).from(a.mr.slice(0, length.toLong())).signaled() }
            return a.take(1).single().status()
        }

        fun Pair.send(region: MemoryRegion): WorkCompletionStatus {
            b.post { write(1, a.mr.remote()).from(region.slice(0, 8)).signaled() }
            return b.take(1).single().status()
        }

        sentence("should count the pages that it has to bring in, each once") {
            val region = b.pd.memoryRegion(16 * PAGE, *PAGED)
            write(region, PAGE - 1, 2) shouldBe SUCCESS
            server.faults shouldBe 2
            b.qp.counters().getValue("page_faults") shouldBe 2
            write(region, 0, 2 * PAGE.toInt()) shouldBe SUCCESS
            server.faults shouldBe 2
            write(region, 0, 16 * PAGE.toInt()) shouldBe SUCCESS
            server.faults shouldBe 16
            client.faults shouldBe 0
        }

        sentence("should bring in only the pages of a long buffer that a short message touches") {
            val region = b.pd.memoryRegion(16 * PAGE, *PAGED)
            b.qp.postReceive(2, region.slice())
            a.post { send(1).from(a.mr.slice(0, 8)).signaled() }
            a.take(1).single().status() shouldBe SUCCESS
            server.faults shouldBe 1
        }

        test("should flush a region and the whole address space, and bring no page in for it") {
            Pair(EmbeddedFabric.virtual(1), features = setOf(Feature.FLUSH)).use { pair ->
                val (a, b) = pair
                val flushed = arrayOf(LOCAL_WRITE, FLUSH_GLOBAL)
                val region = b.pd.memoryRegion(16 * PAGE, *flushed, ON_DEMAND)
                val hole = b.pd.register(MemorySegment.ofAddress(HOLES[0]).reinterpret(PAGE), *flushed, ON_DEMAND)
                val everything = b.pd.implicitRegion(*flushed)
                for (each in listOf(region, hole, everything)) {
                    a.post { flushRegion(1, each.rkey(), FlushPlacement.GLOBAL).signaled() }
                    a.take(1).single().status() shouldBe SUCCESS
                }
                a.post { flush(1, region.remote(), FlushPlacement.GLOBAL).signaled() }
                a.take(1).single().status() shouldBe SUCCESS
                pair.server.faults shouldBe 0
                val barred = b.pd.implicitRegion(LOCAL_WRITE)
                a.post { flushRegion(1, barred.rkey(), FlushPlacement.GLOBAL).signaled() }
                a.take(1).single().status() shouldBe REM_ACCESS_ERR
            }
        }

        sentence("should refuse memory that was unmapped a moment ago") {
            val file = FileChannel.open(Files.createTempFile("kverbs-", ".unmapped"), READ, WRITE, DELETE_ON_CLOSE)
            file.use {
                fun raw(arena: Arena) =
                    it.map(FileChannel.MapMode.READ_WRITE, 0, 64 * PAGE, arena).let { mapped ->
                        b.pd.register(MemorySegment.ofAddress(mapped.address()).reinterpret(PAGE), *PAGED)
                    }
                Arena.ofShared().use { stays ->
                    val one = raw(stays)
                    val gone = Arena.ofShared().use(::raw)
                    val goes = Arena.ofShared()
                    val other = raw(goes)
                    write(one, 0, 8) shouldBe SUCCESS
                    goes.close()
                    write(other, 0, 8) shouldBe REM_ACCESS_ERR
                    listOf(one, other, gone).forEach(MemoryRegion::close)
                }
            }
        }

        sentence("should end a queue pair that meets memory of an implicit region whose file was cut") {
            val everything = b.pd.implicitRegion(LOCAL_WRITE, REMOTE_WRITE)
            val file = FileChannel.open(Files.createTempFile("kverbs-", ".cut"), READ, WRITE, DELETE_ON_CLOSE)
            file.use {
                Arena.ofShared().use { arena ->
                    val mapped = it.map(FileChannel.MapMode.READ_WRITE, 0, PAGE, arena)

                    fun status(): WorkCompletionStatus {
                        a.post { write(1, everything.remote(mapped)).from(a.mr.slice(0, 64)).signaled() }
                        return a.take(1).single().status()
                    }
                    repeat(60_000) { status() shouldBe SUCCESS }
                    it.truncate(0)
                    status() shouldBe REM_OP_ERR
                    b.qp.state() shouldBe QueuePairState.ERR
                }
            }
        }

        sentence("should give advice without a fault for an interrupted thread, which stays interrupted") {
            val region = b.pd.memoryRegion(PAGE, *PAGED)
            region.memory().fill(1)
            Thread.currentThread().interrupt()
            try {
                b.pd.advise(PREFETCH_NO_FAULT, region.slice())
            } finally {
                Thread.interrupted() shouldBe true
            }
            server.prefetched shouldBe 1
        }

        sentence("should count a page again when it is written to after it was read") {
            val region = b.pd.memoryRegion(PAGE, *PAGED)
            send(region) shouldBe SUCCESS
            send(region) shouldBe SUCCESS
            server.faults shouldBe 1
            write(region, 0, 8) shouldBe SUCCESS
            server.faults shouldBe 2
            send(region) shouldBe SUCCESS
            server.faults shouldBe 2
        }

        sentence("should meet no missing page after a prefetch, if it was for what is done") {
            val region = b.pd.memoryRegion(8 * PAGE, *PAGED)
            b.pd.advise(PREFETCH, region.slice(0, PAGE))
            server.prefetched shouldBe 1
            send(region) shouldBe SUCCESS
            server.faults shouldBe 0
            write(region, 0, 8) shouldBe SUCCESS
            server.faults shouldBe 1
            b.pd.adviseLater(PREFETCH_WRITE, region.slice(PAGE, 2 * PAGE), region.slice(5 * PAGE + 1, 1))
            server.prefetched shouldBe 4
            write(region, PAGE, 2 * PAGE.toInt()) shouldBe SUCCESS
            write(region, 5 * PAGE, 8) shouldBe SUCCESS
            server.faults shouldBe 1
            b.pd.advise(PREFETCH_WRITE, region.slice(PAGE, 2 * PAGE))
            server.prefetched shouldBe 4
        }

        sentence("should prefetch without a fault only what is in memory") {
            val file = FileChannel.open(Files.createTempFile("kverbs-", ".sparse"), READ, WRITE, DELETE_ON_CLOSE)
            file.use {
                Arena.ofShared().use { arena ->
                    val mapped = it.map(FileChannel.MapMode.READ_WRITE, 0, 64 * PAGE, arena)
                    mapped.set(java.lang.foreign.ValueLayout.JAVA_BYTE, 32 * PAGE, 1)
                    b.pd.register(mapped, *PAGED).use { region ->
                        b.pd.advise(PREFETCH_NO_FAULT, region.slice())
                        // The system can map neighbours of the page that was touched.
                        server.prefetched shouldBeInRange 1L..63L
                        write(region, 32 * PAGE, 8) shouldBe SUCCESS
                        server.faults shouldBe 1
                        send(region) shouldBe SUCCESS
                        server.faults shouldBe 2
                    }
                }
            }
        }

        sentence("should bring the pages in anew when the region moves or gets other rights") {
            Arena.ofConfined().use { arena ->
                val (one, other) = List(2) { arena.allocate(PAGE, PAGE) }
                val region = b.pd.register(one, *PAGED)
                write(region, 0, 8) shouldBe SUCCESS
                region.reregister(other)
                write(region, 0, 8) shouldBe SUCCESS
                server.faults shouldBe 2
                region.reregister(*PAGED)
                write(region, 0, 8) shouldBe SUCCESS
                server.faults shouldBe 3
                shouldThrow<RdmaSystemException> { region.reregister(LOCAL_WRITE) }.errnoName() shouldBe "EINVAL"
                region.close()
            }
        }

        sentence("should count the pages that a peer meets through a window") {
            val region = b.pd.memoryRegion(4 * PAGE, *PAGED, MW_BIND)
            val window = b.pd.memoryWindow(MemoryWindowType.TYPE_2)
            val key = MemoryWindow.nextRkey(window.rkey())
            b.post { bind(1, window, key, region.slice(PAGE, PAGE), REMOTE_WRITE.bit()).signaled() }
            b.take(1).single().status() shouldBe SUCCESS
            a.post { write(1, region.address() + PAGE, key).inline(byteArrayOf(1)).signaled() }
            a.take(1).single().status() shouldBe SUCCESS
            server.faults shouldBe 1
        }

        test("should pin no memory") {
            EmbeddedFabric.virtual(1).use { fabric ->
                fabric.addDevice(DeviceLimits.DEFAULTS.lockedBytes(PAGE)).open().use { context ->
                    val pd = context.protectionDomain()
                    val paged = pd.memoryRegion(1 shl 20, *PAGED)
                    shouldThrow<RdmaSystemException> { pd.memoryRegion(PAGE + 1) }.errnoName() shouldBe "ENOMEM"
                    pd.memoryRegion(PAGE)
                    paged.close()
                    shouldThrow<RdmaSystemException> { pd.memoryRegion(1) }.errnoName() shouldBe "ENOMEM"
                }
            }
        }

        for (hole in HOLES) {
            val where = "0x${hole.toString(16)}"
            for (diagnoses in listOf(false, true)) {
                val how = if (diagnoses) "with diagnostics" else "without diagnostics"

                sentence("should fail a request whose memory at $where is not mapped, $how") {
                    if (diagnoses) fabric.diagnose {}
                    val region = b.pd.register(MemorySegment.ofAddress(hole).reinterpret(PAGE), *PAGED)
                    send(region) shouldBe LOC_PROT_ERR
                    server.faults shouldBe 0
                }

                sentence("should fail a receive whose memory at $where is not mapped, and the peer's send, $how") {
                    if (diagnoses) fabric.diagnose {}
                    val region = b.pd.register(MemorySegment.ofAddress(hole).reinterpret(PAGE), *PAGED)
                    b.qp.postReceive(2, region.slice())
                    a.post { send(1).from(a.mr.slice(0, 8)).signaled() }
                    a.take(1).single().status() shouldBe REM_OP_ERR
                    b.take(1).single().status() shouldBe LOC_PROT_ERR
                }
            }

            sentence("should refuse a peer whose memory at $where is not mapped, and advice on it") {
                val region = b.pd.register(MemorySegment.ofAddress(hole).reinterpret(PAGE), *PAGED)
                val refusal = shouldThrow<RdmaSystemException> { b.pd.advise(PREFETCH, region.slice()) }
                refusal.errnoName() shouldBe "EFAULT"
                refusal.message shouldContain "is not mapped"
                write(region, 0, 8) shouldBe REM_ACCESS_ERR
            }
        }

        sentence("should refuse a peer that writes to a part that is mapped read-only, and let it read") {
            val file = FileChannel.open(Files.createTempFile("kverbs-", ".readonly"), READ, WRITE, DELETE_ON_CLOSE)
            file.use {
                it.write(java.nio.ByteBuffer.allocate(PAGE.toInt()))
                Arena.ofShared().use { arena ->
                    val mapped = it.map(FileChannel.MapMode.READ_ONLY, 0, PAGE, arena)
                    val region = b.pd.register(MemorySegment.ofAddress(mapped.address()).reinterpret(PAGE), *PAGED)
                    a.post { read(1, region.remote()).into(a.mr.slice(0, PAGE)).signaled() }
                    a.take(1).single().status() shouldBe SUCCESS
                    write(region, 0, 8) shouldBe REM_ACCESS_ERR
                    region.close()
                }
            }
        }

        sentence("should use only memory that the program named through an implicit region") {
            val everything = b.pd.implicitRegion(LOCAL_WRITE, REMOTE_WRITE)
            val memory = Arena.ofAuto().allocate(PAGE)
            val part = memory.asSlice(100, 200)
            b.post { write(1, a.mr.remote()).from(everything.slice(part)).signaled() }
            b.take(1).single().status() shouldBe SUCCESS
            server.faults shouldBeInRange 1L..2L
            b.post { write(1, a.mr.remote()).entry(memory.address() + 99, 8, everything.lkey()).signaled() }
            b.take(1).single().status() shouldBe LOC_PROT_ERR
            part.byteSize() shouldBe 200
        }

        for ((what, address) in mapOf("0" to 0L, "a mapped one of the JVM" to -1L, "the last" to Long.MAX_VALUE - 7)) {
            sentence("should refuse a peer that uses an implicit region at an address that nobody named: $what") {
                val everything = b.pd.implicitRegion(LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ)
                val at = if (address < 0) b.mr.address() else address
                a.post { write(1, at, everything.rkey()).from(a.mr.slice(0, 8)).signaled() }
                a.take(1).single().status() shouldBe REM_ACCESS_ERR
            }
        }

        sentence("should refuse memory of an implicit region whose arena was closed, and serve what is named anew") {
            val everything = b.pd.implicitRegion(LOCAL_WRITE, REMOTE_WRITE)
            val gone = Arena.ofShared().use { everything.remote(it.allocate(64L shl 20)) }
            val memory = Arena.ofAuto().allocate(PAGE)
            a.post { write(1, everything.remote(memory)).from(a.mr.slice(0, 8)).signaled() }
            a.take(1).single().status() shouldBe SUCCESS
            a.post { write(1, gone.slice(0, 8)).from(a.mr.slice(0, 8)).signaled() }
            a.take(1).single().status() shouldBe REM_ACCESS_ERR
            memory.byteSize() shouldBe PAGE
        }

        sentence("should count pages of an implicit region anew where other memory took the place of freed memory") {
            val everything = b.pd.implicitRegion(LOCAL_WRITE, REMOTE_WRITE)
            val place = Arena.ofAuto().allocate(2 * PAGE, PAGE)
            repeat(3) { round ->
                Arena.ofShared().use { arena ->
                    val memory = MemorySegment.ofAddress(place.address()).reinterpret(2 * PAGE, arena, null)
                    repeat(2) {
                        a.post { write(1, everything.remote(memory)).from(a.mr.slice(0, 2 * PAGE)).signaled() }
                        a.take(1).single().status() shouldBe SUCCESS
                    }
                    server.faults shouldBe 2 * (round + 1)
                }
            }
            place.byteSize() shouldBe 2 * PAGE
        }

        sentence("should not touch memory of an implicit region that is freed while a receive waits, diagnosed") {
            fabric.diagnose {}
            val everything = b.pd.implicitRegion(LOCAL_WRITE)
            Arena.ofShared().use { b.qp.postReceive(1, everything.slice(it.allocate(64L shl 20))) }
            a.post { send(1).from(a.mr.slice(0, 8)).signaled() }
            a.take(1).single().status() shouldBe REM_OP_ERR
            b.take(1).single().status() shouldBe LOC_PROT_ERR
        }

        sentence("should prefetch through an implicit region, and refuse rights that it can't have") {
            val everything = b.pd.implicitRegion(LOCAL_WRITE)
            Arena.ofConfined().use { arena ->
                val memory = arena.allocate(4 * PAGE, PAGE)
                b.pd.advise(PREFETCH_WRITE, everything.slice(memory))
                server.prefetched shouldBe 4
                b.post { read(1, a.mr.remote().slice(0, 4 * PAGE)).into(everything.slice(memory)).signaled() }
                b.take(1).single().status() shouldBe SUCCESS
                server.faults shouldBe 0
            }
            for (access in listOf(AccessFlag.ZERO_BASED, AccessFlag.HUGETLB)) {
                shouldThrow<RdmaSystemException> { b.pd.implicitRegion(access) }.errnoName() shouldBe "EINVAL"
            }
        }

        test("should tell what can be paged on demand") {
            EmbeddedFabric.virtual(1).use { fabric ->
                fabric.addDevice().open().use { context ->
                    val paging = context.queryDeviceEx().onDemandPaging()
                    paging.isSupported shouldBe true
                    paging.isImplicitSupported shouldBe true
                    listOf(paging.rc(), paging.uc(), paging.ud(), paging.xrc()) shouldBe listOf(63, 39, 35, 63)
                }
            }
        }
    })
