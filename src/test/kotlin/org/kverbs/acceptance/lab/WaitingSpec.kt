package org.kverbs.acceptance.lab

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.AsyncEvent
import org.kverbs.AsyncEventException
import org.kverbs.acceptance.contract.Bench
import org.kverbs.acceptance.contract.Capability.ADDRESS_EVENTS
import org.kverbs.acceptance.contract.ContractSpec
import org.kverbs.acceptance.contract.PORT
import org.kverbs.acceptance.contract.await
import org.kverbs.attributes.AsyncEventType
import org.kverbs.attributes.PortState
import java.time.Duration
import java.util.concurrent.CompletableFuture
import java.util.concurrent.ExecutionException
import java.util.concurrent.TimeUnit

private val LONG = Duration.ofSeconds(30)

/** Checks events of the device, and the ends of waits for events. */
internal class WaitingSpec :
    ContractSpec({
        case("should report that the port went down and came up again") {
            val gids = context.queryGidTable()
            try {
                ip("link", "set", device.netdev, "down")
                val down = eventOf(AsyncEventType.PORT_ERR)
                down.port() shouldBe PORT
                down.source().shouldBeNull()
                down.toString() shouldBe "PORT_ERR on port 1"
                shouldThrow<AsyncEventException> { down.orThrow() }.message shouldContain
                    "PORT_ERR on port 1. It is down"
                await("the port's state") { context.queryPort(PORT).state() != PortState.ACTIVE }
            } finally {
                ip("link", "set", device.netdev, "up")
            }
            eventOf(AsyncEventType.PORT_ACTIVE).orThrow().port() shouldBe PORT
            await("the port's state") { context.queryPort(PORT).state() == PortState.ACTIVE }
            await("the GIDs as they were") { context.queryGidTable() == gids }
        }

        if (ADDRESS_EVENTS !in device.capabilities) {
            case("should report no event when an address comes and goes, if the device has no GIDs of addresses") {
                val gids = context.queryGidTable()
                ip("addr", "add", "10.99.7.7/32", "dev", device.netdev)
                try {
                    context.awaitAsyncEvent(Duration.ofMillis(200)).shouldBeNull()
                    context.queryGidTable() shouldBe gids
                } finally {
                    ip("addr", "del", "10.99.7.7/32", "dev", device.netdev)
                }
            }
        }

        case("should report that an address came and went", ADDRESS_EVENTS) {
            val gids = context.queryGidTable()
            try {
                ip("addr", "add", "10.99.7.7/32", "dev", device.netdev)
                eventOf(AsyncEventType.GID_CHANGE).port() shouldBe PORT
                await(
                    "the new GID",
                ) { context.queryGidTable().any { it.gid().toCompactString() == "::ffff:10.99.7.7" } }
            } finally {
                ip("addr", "del", "10.99.7.7/32", "dev", device.netdev)
            }
            eventOf(AsyncEventType.GID_CHANGE)
            await("the GIDs as they were") { context.queryGidTable() == gids }
        }

        case("should find no event if there is none, at once and after a while") {
            context.awaitAsyncEvent(Duration.ZERO).shouldBeNull()
            context.awaitAsyncEvent(Duration.ofMillis(30)).shouldBeNull()
            val channel = context.completionChannel()
            channel.awaitEvent(Duration.ZERO).shouldBeNull()
            channel.awaitEvent(Duration.ofMillis(30)).shouldBeNull()
            (channel.fd() > 0 && context.asyncEventFd() > 0) shouldBe true
        }

        case("should end a wait for an event of the device when it is closed") {
            val waiter = Waiter { context.awaitAsyncEvent(LONG) }
            context.close()
            shouldThrow<IllegalStateException> { waiter.outcome() }.message shouldContain
                "device ${device.name} is closed"
        }

        case("should end a wait for a completion event when the channel is closed") {
            val channel = context.completionChannel()
            val waiter = Waiter { channel.awaitEvent(LONG) }
            channel.close()
            shouldThrow<IllegalStateException> { waiter.outcome() }.message shouldContain
                "${channel.describe()} is closed"
        }

        case("should end a wait for a completion event when the device is closed") {
            val channel = context.completionChannel()
            val waiter = Waiter { channel.awaitEvent(LONG) }
            context.close()
            shouldThrow<IllegalStateException> { waiter.outcome() }.message shouldContain
                "${channel.describe()} is closed"
        }

        case("should end both kinds of wait when the thread is interrupted") {
            val channel = context.completionChannel()
            for (waiter in listOf(Waiter { channel.awaitEvent(LONG) }, Waiter { context.awaitAsyncEvent(LONG) })) {
                waiter.thread.interrupt()
                shouldThrow<InterruptedException> { waiter.outcome() }.message shouldContain
                    "interrupted while waiting for an event of"
            }
        }
    })

/**
 * Returns the next event of a type; others, such as changes of the GID table with those of the link, may come before
 * it.
 */
private fun Bench.eventOf(type: AsyncEventType): AsyncEvent {
    val events = generateSequence { context.awaitAsyncEvent(Duration.ofSeconds(10)) }
    return events.firstOrNull { it.type() == type }.shouldNotBeNull()
}

internal fun ip(vararg arguments: String) {
    val process = ProcessBuilder("ip", *arguments).redirectErrorStream(true).start()
    val said = process.inputReader().readText()
    check(process.waitFor() == 0) { "ip ${arguments.joinToString(" ")}: $said" }
}

/** A waiting thread; the constructor returns when it waits. */
internal class Waiter(
    wait: () -> Unit,
) {
    private val result = CompletableFuture<Unit>()
    val thread: Thread =
        Thread.ofPlatform().daemon().start {
            runCatching(wait).fold({ result.complete(Unit) }, { result.completeExceptionally(it) })
        }

    init {
        // In the native poll(2) the thread's state is RUNNABLE, so that only time can tell.
        Thread.sleep(100)
    }

    /** Throws the exception of the wait. */
    fun outcome() {
        try {
            result.get(10, TimeUnit.SECONDS)
        } catch (e: ExecutionException) {
            throw checkNotNull(e.cause)
        }
    }
}
