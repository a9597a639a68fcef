package org.kverbs.embedded

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.MemoryWindow
import org.kverbs.RdmaSystemException
import org.kverbs.SendRequests
import org.kverbs.WorkCompletionOpcode
import org.kverbs.WorkCompletionStatus
import org.kverbs.WorkCompletions
import org.kverbs.XrcDomainAttributes
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.AsyncEventType
import org.kverbs.attributes.MemoryWindowType
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.RateLimit
import org.kverbs.attributes.SharedReceiveQueueAttributes
import java.lang.foreign.ValueLayout.JAVA_LONG
import java.nio.file.Files
import java.time.Duration
import kotlin.io.path.Path
import kotlin.io.path.createLinkPointingTo
import kotlin.io.path.createSymbolicLinkPointingTo
import kotlin.io.path.deleteIfExists
import kotlin.io.path.div
import kotlin.io.path.exists
import kotlin.io.path.listDirectoryEntries
import kotlin.io.path.readSymbolicLink
import kotlin.random.Random

/** Counts the open files of this process with a name, deleted or not. */
private fun openFiles(name: String): Int =
    Path("/proc/self/fd").listDirectoryEntries().count {
        name in runCatching { it.readSymbolicLink().toString() }.getOrDefault("")
    }

/** Tests extended reliable connections over bad lines, with injected failures, and with contexts that close. */
class XrcFabricSpec :
    FunSpec({
        for (seed in 1L..5L) {
            test("should deliver everything once and in order over a line that loses, repeats and delays: seed $seed") {
                XrcPair(EmbeddedFabric.virtual(seed), patient).use { pair ->
                    pair.fabric.setFaults(Faults.NONE.loss(0.05).duplication(0.05).delay(Duration.ofMillis(1)))
                    val random = Random(seed)
                    repeat(20) { round ->
                        val length = random.nextLong(1, 20_000)
                        pair.a.fill(round)
                        pair.srq.postReceive(round.toLong(), pair.mr.slice(0, length))
                        pair.a.post {
                            send(1).from(pair.a.mr.slice(0, length)).toSharedReceiveQueue(pair.number)
                            read(2, pair.mr.remote().at(0))
                                .into(pair.a.mr.slice(30_000, length))
                                .toSharedReceiveQueue(pair.number)
                            fetchAndAdd(3, pair.mr.remote().at(40_000), 1)
                                .into(pair.a.mr.slice(60_000, 8))
                                .toSharedReceiveQueue(pair.number)
                                .signaled()
                        }
                        pair.a.take(1).single().isSuccess shouldBe true
                        val batch = WorkCompletions(8)
                        pair.cq.poll(batch) shouldBe 1
                        batch.get(0).workRequestId() shouldBe round
                        batch.get(0).byteLength() shouldBe length
                        pair.a.bytes(30_000, length) shouldBe pair.a.bytes(0, length)
                        pair.mr.memory().get(JAVA_LONG, 40_000) shouldBe round + 1
                    }
                }
            }
        }

        test("should let each call be refused, and leave nothing behind") {
            EmbeddedFabric.virtual(1).use { fabric ->
                fabric.addDevice().open().use { context ->
                    val pd = context.protectionDomain()
                    val cq = context.completionQueue(4)

                    fun refused(
                        operation: Operation,
                        call: () -> Unit,
                    ) {
                        fabric.inject(Failure.of(operation, Errno.ENOMEM))
                        shouldThrow<RdmaSystemException> { call() }.errnoName() shouldBe "ENOMEM"
                    }
                    refused(Operation.OPEN_XRC_DOMAIN) { context.xrcDomain() }
                    val domain = context.xrcDomain()
                    refused(Operation.CREATE_SHARED_RECEIVE_QUEUE) {
                        pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(1, 1), domain, cq)
                    }
                    refused(Operation.CREATE_QUEUE_PAIR) { domain.queuePair() }
                    val receiver = domain.queuePair()
                    refused(Operation.OPEN_QUEUE_PAIR) { domain.openQueuePair(receiver.number()) }
                    refused(Operation.CLOSE_XRC_DOMAIN) { domain.close() }
                }
            }
        }

        test("should refuse to post invalidating sends, windows of type 2 and local invalidates, which can only fail") {
            XrcPair(EmbeddedFabric.virtual(1)).use { pair ->
                val region = pair.a.pd.memoryRegion(64, AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND)
                val window = pair.a.pd.memoryWindow(MemoryWindowType.TYPE_2)
                val key = MemoryWindow.nextRkey(window.rkey())
                listOf<SendRequests.() -> Unit>(
                    { sendWithInvalidate(1, key).toSharedReceiveQueue(pair.number).signaled() },
                    { bind(1, window, key, region.slice(), AccessFlag.REMOTE_READ.bit()).signaled() },
                    { localInvalidate(1, key).signaled() },
                ).forEach { request ->
                    shouldThrow<RdmaSystemException> { pair.a.post(request) }.errnoName() shouldBe "EINVAL"
                }
                pair.a.qp.state() shouldBe QueuePairState.RTS
            }
        }

        test("should limit the rate of a queue pair that sends, and no other, as the attributes say") {
            XrcPair(EmbeddedFabric.virtual(1)).use { pair ->
                val types = pair.context.queryDeviceEx().packetPacing().queuePairTypes()
                QueuePairType.XRC_SEND.isIn(types) shouldBe true
                pair.a.qp.limitRate(RateLimit.ofKbps(1000))
            }
        }

        test("should keep the file of a domain open as long as a context has the domain, and no longer") {
            val file = Files.createTempFile("xrc", "domain")
            EmbeddedFabric.virtual(1).use { fabric ->
                val device = fabric.addDevice()
                val contexts = List(2) { device.open() }
                val domains = contexts.map { it.xrcDomain(XrcDomainAttributes.of(file)) }
                file.deleteIfExists()
                openFiles(file.fileName.toString()) shouldBe 1
                domains[0].close()
                openFiles(file.fileName.toString()) shouldBe 1
                contexts[1].close()
                openFiles(file.fileName.toString()) shouldBe 0
                contexts[0].close()
            }
        }

        test("should let a receive fail as a test wants it, in the queue that the message names") {
            XrcPair(EmbeddedFabric.virtual(1)).use { pair ->
                pair.srq.postReceive(1, pair.mr.slice())
                pair.fabric.inject(Failure.of(WorkCompletionOpcode.RECV, WorkCompletionStatus.LOC_PROT_ERR))
                pair.a.post { send(1).from(pair.a.mr.slice(0, 8)).toSharedReceiveQueue(pair.number).signaled() }
                pair.a.take(1).single().status() shouldBe WorkCompletionStatus.REM_OP_ERR
                val batch = WorkCompletions(8)
                pair.cq.poll(batch) shouldBe 1
                batch.get(0).status() shouldBe WorkCompletionStatus.LOC_PROT_ERR
                pair.receiver.state() shouldBe QueuePairState.ERR
            }
        }

        test("should refuse to create more than the device's limits of queues and queue pairs") {
            EmbeddedFabric.virtual(1).use { fabric ->
                val limits = DeviceLimits.DEFAULTS.queuePairs(1).sharedReceiveQueues(1)
                fabric.addDevice(limits).open().use { context ->
                    val domain = context.xrcDomain()
                    val cq = context.completionQueue(4)
                    val pd = context.protectionDomain()
                    val queue = pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(1, 1), domain, cq)
                    shouldThrow<RdmaSystemException> {
                        pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(1, 1), domain, cq)
                    }.message shouldContain "max_srq"
                    val receiver = domain.queuePair()
                    shouldThrow<RdmaSystemException> { domain.queuePair() }.message shouldContain "max_qp"
                    receiver.close()
                    queue.close()
                    domain.queuePair()
                    pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(1, 1), domain, cq)
                }
            }
        }

        test(
            "should know a file by its inode, make it for the first context, and forget the domain after the last",
        ) {
            val folder = Files.createTempDirectory("xrc")
            val file = folder / "domain"
            val names = listOf(file, folder / "link", folder / "symbolic")
            try {
                EmbeddedFabric.virtual(1).use { fabric ->
                    val device = fabric.addDevice()
                    device.open().use { context ->
                        val domain = context.xrcDomain(XrcDomainAttributes.of(file))
                        file.exists() shouldBe true
                        names[1].createLinkPointingTo(file)
                        names[2].createSymbolicLinkPointingTo(file)
                        val number = domain.queuePair().number()
                        device.open().use { other ->
                            names.drop(1).forEach {
                                val same = other.xrcDomain(XrcDomainAttributes.of(it).existing())
                                same.openQueuePair(number).number() shouldBe number
                            }
                        }
                        domain.close()
                        val gone = XrcDomainAttributes.of(file).existing()
                        shouldThrow<RdmaSystemException> { context.xrcDomain(gone) }.message shouldContain
                            "EAGAIN (Resource temporarily unavailable). Nobody has the XRC domain of this file open"
                        context.xrcDomain(XrcDomainAttributes.of(file).fresh())
                    }
                }
                EmbeddedFabric.virtual(1).use { fabric ->
                    fabric.addDevice().open().use { context ->
                        val nowhere = XrcDomainAttributes.of(folder / "none" / "file")
                        shouldThrow<RdmaSystemException> { context.xrcDomain(nowhere) }.errnoName() shouldBe "ENOENT"
                    }
                }
            } finally {
                names.reversed().forEach { it.deleteIfExists() }
                folder.deleteIfExists()
            }
        }

        test("should keep a queue pair for the contexts that opened it when the one that made it closes") {
            val folder = Files.createTempDirectory("xrc")
            val file = folder / "domain"
            try {
                EmbeddedFabric.virtual(1).use { fabric ->
                    val sender = End(fabric.addDevice(), QueuePairType.XRC_SEND, 4096)
                    val device = fabric.addDevice()
                    val maker = device.open()
                    val user = device.open()
                    val receiver = maker.xrcDomain(XrcDomainAttributes.of(file)).queuePair()
                    val domain = user.xrcDomain(XrcDomainAttributes.of(file))
                    val opened = List(2) { domain.openQueuePair(receiver.number()) }
                    val cq = user.completionQueue(8)
                    val pd = user.protectionDomain()
                    val mr = pd.memoryRegion(4096, AccessFlag.LOCAL_WRITE)
                    val srq = pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(4, 1), domain, cq)
                    sender.qp.connect(receiver.endpoint())
                    receiver.connect(sender.qp.endpoint())
                    maker.close()
                    repeat(50) { device.open().use { other -> other.protectionDomain() } } // reuses freed memory
                    srq.postReceive(1, mr.slice())
                    val number = srq.number()
                    sender.post { send(1).from(sender.mr.slice(0, 8)).toSharedReceiveQueue(number).signaled() }
                    sender.take(1).single().isSuccess shouldBe true
                    opened.map { it.query().destQpn() } shouldBe List(2) { sender.qp.number() }
                    opened.first().close()
                    opened.last().state() shouldBe QueuePairState.RTS
                    sender.post { send(2).from(sender.mr.slice(0, 8)).toSharedReceiveQueue(number xor 1).signaled() }
                    sender.take(1).single().status() shouldBe WorkCompletionStatus.REM_INV_REQ_ERR
                    val types = List(2) { user.awaitAsyncEvent(Duration.ZERO).shouldNotBeNull() }
                    types.map { it.type() to it.source() } shouldBe
                        listOf(
                            AsyncEventType.QP_REQ_ERR,
                            AsyncEventType.QP_LAST_WQE_REACHED,
                        ).map { it to opened.last() }
                    user.close()
                    sender.close()
                }
            } finally {
                file.deleteIfExists()
                folder.deleteIfExists()
            }
        }

        test("should keep a queue pair for others when a context closes although the device refused to destroy it") {
            val file = Files.createTempFile("xrc", "domain")
            try {
                EmbeddedFabric.virtual(1).use { fabric ->
                    val device = fabric.addDevice()
                    val maker = device.open()
                    device.open().use { user ->
                        val receiver = maker.xrcDomain(XrcDomainAttributes.of(file)).queuePair()
                        val opened = user.xrcDomain(XrcDomainAttributes.of(file)).openQueuePair(receiver.number())
                        val init = QueuePairAttributes.builder().state(QueuePairState.INIT).pkeyIndex(0).port(1)
                        receiver.modify(init.accessFlags(setOf(AccessFlag.REMOTE_READ)).build())
                        fabric.inject(Failure.of(Operation.DESTROY_QUEUE_PAIR, Errno.EBUSY))
                        shouldThrow<RdmaSystemException> { maker.close() }.operation() shouldBe "ibv_destroy_qp"
                        maker.isOpen shouldBe false
                        opened.query().accessFlags() shouldBe setOf(AccessFlag.REMOTE_READ)
                        opened.state() shouldBe QueuePairState.INIT
                    }
                }
            } finally {
                file.deleteIfExists()
            }
        }
    })
