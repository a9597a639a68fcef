package org.kverbs.acceptance.contract

import org.kverbs.MemorySlice
import org.kverbs.cm.ConnectionEndpoint
import org.kverbs.cm.ConnectionListener
import org.kverbs.cm.EndpointOptions
import org.kverbs.cm.PortSpace
import org.kverbs.cm.SynchronousConnectionId
import java.net.InetSocketAddress
import java.time.Duration
import java.util.concurrent.CompletableFuture
import java.util.concurrent.ExecutionException
import java.util.concurrent.TimeUnit

/** Endpoints on the device of the bench. */
internal val Bench.endpoints: EndpointOptions
    get() = EndpointOptions.DEFAULTS.on(context.device()).within(Duration.ofSeconds(20))

internal fun Bench.endpointListener(options: EndpointOptions = endpoints): ConnectionListener =
    ConnectionEndpoint.listen(at(0), options)

internal val ConnectionListener.address: InetSocketAddress get() = checkNotNull(localAddress())

/** Runs a block on a thread of its own, whose end [Task.get] waits for. */
internal fun <T> task(block: () -> T): Task<T> {
    val result = CompletableFuture<T>()
    val thread =
        Thread.ofPlatform().daemon().start {
            try {
                result.complete(block())
            } catch (e: Throwable) {
                result.completeExceptionally(e)
            }
        }
    return Task(thread, result)
}

internal class Task<T>(
    private val thread: Thread,
    private val result: CompletableFuture<T>,
) {
    val isDone: Boolean get() = result.isDone

    /** Returns the result, or throws what the block threw. */
    fun get(): T =
        try {
            result.get(DEADLINE.inWholeSeconds * 2, TimeUnit.SECONDS)
        } catch (e: ExecutionException) {
            throw e.cause ?: e
        }

    fun interrupt() = thread.interrupt()

    /** Waits until the block has had time to begin its wait. */
    fun hasBegunToWait(): Task<T> {
        Thread.sleep(100)
        check(!isDone) { "it did not wait: ${result.resultNow()}" }
        return this
    }
}

/** Two connected endpoints. */
internal class Endpoints(
    val client: ConnectionEndpoint,
    val server: ConnectionEndpoint,
) : AutoCloseable {
    override fun close() = client.use { server.close() }
}

/** Connects two endpoints; [prepared] posts the receives of both. */
internal fun Bench.endpointPair(
    options: EndpointOptions = endpoints,
    prepared: (client: ConnectionEndpoint, server: ConnectionEndpoint) -> Unit = { _, _ -> },
): Endpoints =
    endpointListener(options).use { listener ->
        val client = ConnectionEndpoint.to(listener.address, options)
        val connecting = task { client.connect(words("from the client")) }
        val server = listener.awaitRequest()
        prepared(client, server)
        server.accept(words("from the server"))
        connecting.get()
        Endpoints(client, server)
    }

internal fun Bench.synchronous(space: PortSpace = PortSpace.TCP): SynchronousConnectionId =
    SynchronousConnectionId.open(context.device(), space)

internal fun MemorySlice.text(): String = memory().getString(0)

internal fun MemorySlice.text(text: String): MemorySlice = apply { memory().setString(0, text) }
