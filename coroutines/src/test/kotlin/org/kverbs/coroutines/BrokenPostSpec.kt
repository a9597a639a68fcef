package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CoroutineStart.UNDISPATCHED
import kotlinx.coroutines.async
import kotlinx.coroutines.delay
import kotlinx.coroutines.supervisorScope
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import org.kverbs.Context
import org.kverbs.Device
import org.kverbs.WorkCompletionException
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.AccessFlag.MW_BIND
import org.kverbs.attributes.AccessFlag.REMOTE_READ
import org.kverbs.attributes.AccessFlag.REMOTE_WRITE
import org.kverbs.attributes.QueuePairState
import org.kverbs.dsl.RC
import org.kverbs.dsl.write
import org.kverbs.spi.QueuePairOps
import org.kverbs.spi.ReceiveOps
import org.kverbs.spi.VerbsContext
import org.kverbs.spi.VerbsDevice
import org.kverbs.spi.VerbsOpenResult
import org.kverbs.spi.VerbsProvider
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.lang.reflect.InvocationTargetException
import java.lang.reflect.Proxy
import java.util.ServiceLoader
import java.util.concurrent.atomic.AtomicInteger
import kotlin.coroutines.EmptyCoroutineContext
import kotlin.time.Duration.Companion.seconds

/** The same object, with [answer] in place of the results of its method [name]. */
private inline fun <reified T : Any, reified R> T.answering(
    name: String,
    crossinline answer: (R) -> R,
): T =
    Proxy.newProxyInstance(T::class.java.classLoader, arrayOf(T::class.java)) { _, method, arguments ->
        val result =
            try {
                method.invoke(this, *arguments ?: emptyArray())
            } catch (e: InvocationTargetException) {
                throw checkNotNull(e.cause)
            }
        if (method.name == name) answer(result as R) else result
    } as T

/** An embedded device. After each post of sends, or of receives, which it has taken, [onPost] can throw, or count. */
private fun deviceWith(
    isReceiving: Boolean = false,
    onPost: () -> Unit,
): Context {
    val provider = ServiceLoader.load(VerbsProvider::class.java).first { it.name() == "embedded" }

    fun posting(real: QueuePairOps): QueuePairOps =
        real.answering(if (isReceiving) "postReceive" else "postSend") { result: Int ->
            onPost()
            result
        }

    fun receiving(real: ReceiveOps): ReceiveOps =
        real.answering("postReceive") { result: Int ->
            if (isReceiving) onPost()
            result
        }

    fun context(real: VerbsContext): VerbsContext =
        real.answering("queuePairOps", ::posting).answering("sharedReceiveQueueOps", ::receiving)
    val device =
        provider.devices().first().answering<VerbsDevice, VerbsOpenResult>("open") {
            VerbsOpenResult.of(context(checkNotNull(it.context())))
        }
    return Device.of(provider, device).open()
}

/** Tests the end of a send queue whose device can have taken a request although its post threw an error. */
class BrokenPostSpec :
    FunSpec({
        timeout = 60_000

        for (isPolling in listOf(true, false)) {
            for (isBatch in listOf(true, false)) {
                val what = if (isBatch) "a batch" else "a request"
                val where = if (isPolling) "on the polling thread" else "on another thread"
                test("should end a queue whose post of $what threw an error, $where") {
                    var planted: Error? = null
                    deviceWith { planted?.let { throw it } }.use { device ->
                        val pd = device.protectionDomain()
                        val dispatcher = device.completionDispatcher()
                        val (qp, peer) = List(2) { dispatcher.qp(pd, RC) }
                        qp.connect(peer.endpoint())
                        peer.connect(qp.endpoint())
                        val pool = pd.bufferPool { access(LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE) }
                        val buffer = pool.take(64)
                        val region = pd.memoryRegion(64, LOCAL_WRITE, REMOTE_WRITE)

                        suspend fun post() {
                            if (isBatch) {
                                qp.batch { repeat(2) { write(buffer.slice(0, 8), to = region.remote()) } }
                            } else {
                                qp.write(buffer.slice(0, 8), to = region.remote())
                            }
                        }
                        post()
                        val context = if (isPolling) dispatcher.coroutineDispatcher else EmptyCoroutineContext
                        supervisorScope {
                            val received = async(start = UNDISPATCHED) { qp.receive(region.slice()) }
                            withContext(context) {
                                planted = StackOverflowError("planted")
                                shouldThrow<StackOverflowError> { post() }
                                planted = null
                                shouldThrow<StackOverflowError> { post() }
                            }
                            // The queue pair is in the error state, which ends the receive and completes the requests.
                            withTimeout(10.seconds) { received.join() }
                        }
                        buffer.close()
                        pool.close()
                        qp.stats.pending shouldBe 0
                    }
                }
            }
        }

        test(
            "should end a queue pair whose binding of a window threw an error, and give its number to no other binding",
        ) {
            var planted: Error? = null
            deviceWith { planted?.let { throw it } }.use { device ->
                val pd = device.protectionDomain()
                val dispatcher = device.completionDispatcher()
                val (qp, peer) = List(2) { dispatcher.qp(pd, RC) }
                qp.connect(peer.endpoint())
                peer.connect(qp.endpoint())
                val windows = ChannelWindows(dispatcher, qp.queuePair, dispatcher.reserve(1), 1, Failures())
                val memory = pd.memoryRegion(64, LOCAL_WRITE, MW_BIND).slice()
                val unused = AtomicInteger()
                val access = AccessFlag.mask(setOf(REMOTE_READ))

                suspend fun bind() = windows.bind(memory, access, {}, {}) { unused.incrementAndGet() }
                planted = StackOverflowError("planted")
                shouldThrow<StackOverflowError> { bind() }
                planted = null
                unused.get() shouldBe 1
                // The device has completed the first by then, and flushes the second.
                shouldThrow<WorkCompletionException> { withTimeout(10.seconds) { bind() } }
                qp.queuePair.query().state() shouldBe QueuePairState.ERR
                withTimeout(10.seconds) { while (unused.get() != 2) delay(1) } // called after the caller has gone on
            }
        }

        for (isLate in listOf(true, false)) {
            val what = if (isLate) "postReceive" else "receive"
            test("should keep the memory of a $what whose post threw an error until the device has completed it") {
                var planted: Error? = null
                deviceWith(isReceiving = true) { planted?.let { throw it } }.use { device ->
                    val pd = device.protectionDomain()
                    val dispatcher = device.completionDispatcher()
                    val (qp, peer) = List(2) { dispatcher.qp(pd, RC) }
                    qp.connect(peer.endpoint())
                    peer.connect(qp.endpoint())
                    val pool = pd.bufferPool { access(LOCAL_WRITE) }
                    val message = pd.memoryRegion(8, LOCAL_WRITE)
                    message.memory().fill(7)
                    val buffer = pool.take(8)
                    supervisorScope {
                        val waiting =
                            async(start = UNDISPATCHED) { qp.receive(pd.memoryRegion(8, LOCAL_WRITE).slice()) }
                        planted = StackOverflowError("planted")
                        shouldThrow<StackOverflowError> { if (isLate) qp.postReceive(buffer) else qp.receive(buffer) }
                        planted = null
                        buffer.close()
                        val next = pool.take(8)
                        next.memory.fill(1)
                        shouldThrow<WorkCompletionException> { withTimeout(20.seconds) { peer.send(message.slice()) } }
                        next.memory.get(JAVA_BYTE, 0) shouldBe 1.toByte()
                        shouldThrow<StackOverflowError> { withTimeout(10.seconds) { waiting.await() } }
                        shouldThrow<StackOverflowError> { qp.receive(next) }
                        next.close()
                    }
                    qp.queuePair.close()
                    pool.stats.takenBytes shouldBe 0
                }
            }
        }

        test("should give the memory of a shared receive whose post threw an error to no other receive") {
            var posts = 0
            deviceWith(isReceiving = true) { if (++posts == 5) throw StackOverflowError("planted") }.use { device ->
                val dispatcher = device.completionDispatcher()
                val shared = checkNotNull(SharedChannels.of(device, dispatcher))
                val settings = MessageChannelBuilder()
                val (first, second) =
                    List(2) { ChannelLink(dispatcher, checkNotNull(shared.memory(settings)), settings) }
                shouldThrow<StackOverflowError> { first.prepare() }
                shared.receives.registered shouldBe 5
                second.prepare()
                posts shouldBe shared.receives.registered
            }
        }
    })
