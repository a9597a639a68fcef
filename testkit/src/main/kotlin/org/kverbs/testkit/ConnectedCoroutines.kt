package org.kverbs.testkit

import kotlinx.coroutines.CoroutineScope
import org.kverbs.attributes.ConnectOptions
import org.kverbs.dsl.RC
import org.kverbs.dsl.RcVerbs
import org.kverbs.dsl.ReceiveVerbs
import org.kverbs.dsl.Transport
import org.kverbs.embedded.DeviceLimits
import org.kverbs.embedded.Faults
import org.kverbs.embedded.Semantics
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/**
 * The receiver of a [connectedCoroutines] block: controls the devices and faults, and is the scope of the block's
 * coroutines.
 */
public open class ConnectedCoroutines internal constructor(
    devices: TestDevices,
    scope: CoroutineScope,
    /**
     * The scope for coroutines that serve until the end of the block. They are cancelled then, and the block does not
     * wait for them before. If one fails, the test fails at once, as in `runTest`.
     */
    public val backgroundScope: CoroutineScope,
) : ConnectedPair(devices),
    CoroutineScope by scope

/**
 * Runs a coroutine, and the coroutines that it launches, on two connected ends: a [connectedPair] for suspend
 * functions. Devices, faults and leaks are the same as there. In addition, a buffer that a test takes from an end's
 * pool and does not close is a leak.
 *
 * ```
 * test("should answer") {
 *     connectedCoroutines { client, server ->
 *         backgroundScope.launch { answer(server.qp, server.pool) }      // the code under test
 *         val answer = async { client.receive(64) }
 *         client.send("ping".encodeToByteArray())
 *         answer.await().decodeToString() shouldBe "pong"
 *     }
 * }
 * ```
 *
 * **Threads.** The function blocks the calling thread, which runs all coroutines of the block and polls for both ends
 * between them. So call it like a function that does not suspend, also within `runTest` and Kotest's
 * `coroutineTestScope`, whose time it does not change.
 *
 * **Time.** On embedded devices time stands still while a coroutine of the block has work to do. When all coroutines
 * wait, time moves on to the next timer or packet. `delay` and `withTimeout` use the same [clock][ConnectedPair.clock],
 * so neither they nor retries take real time, and the same seed gives the same run. A coroutine that moves to another
 * dispatcher (`withContext(Dispatchers.IO)`) counts as waiting: its timeouts expire at once. A real device has the real
 * time.
 *
 * **Failures.** The first exception of the block, of a coroutine in it, or in [ConnectedCoroutines.backgroundScope],
 * fails the test; further exceptions are suppressed in the first. An exception of a coroutine in another scope without
 * an exception handler fails the test, too, unless blocks of other tests run on other threads at that time.
 *
 * **A wait in vain.** If all coroutines wait, no packet or timer is under way, and no other thread is known that could
 * change that, the block is cancelled and the test fails after 2 s of real time, without waiting for the timeout. Known
 * threads are those of coroutines on another dispatcher, those that the test has started, and those that have used the
 * devices.
 *
 * **A blocked thread.** If a coroutine keeps the thread for the whole timeout, by `Thread.sleep` or a lock, the thread
 * is interrupted, and the test fails with the thread's stack trace. A wait that ignores interrupts, as for
 * `synchronized`, goes on; then the stack trace is logged (System.Logger `org.kverbs.testkit`).
 *
 * @param faults as for [connectedPair], like [seed], [options], [diagnostics], [semantics] and [limits]
 * @param timeout real time for the block; after it the block is cancelled, and the test fails
 * @throws AssertionError if a resource leaked, memory was misused, or the timeout passed
 * @throws InterruptedException if the thread is interrupted, which cancels the block
 * @throws IllegalStateException if faults are requested on a real device
 * @throws org.kverbs.DeviceNotFoundException if no device has the requested name; the message lists the devices
 */
public fun connectedCoroutines(
    faults: Faults = Faults.NONE,
    seed: Long = 1,
    options: ConnectOptions = ConnectOptions.DEFAULTS,
    diagnostics: Boolean = false,
    timeout: Duration = 10.seconds,
    semantics: Semantics = Semantics.STRICT,
    limits: DeviceLimits = DeviceLimits.DEFAULTS,
    block: suspend ConnectedCoroutines.(client: CoroutinePeer<RcVerbs>, server: CoroutinePeer<RcVerbs>) -> Unit,
): Unit = connectedCoroutines(RC, faults, seed, options, diagnostics, timeout, semantics, limits, block)

/**
 * Does the same with queue pairs of another type: `connectedCoroutines(UC) { client, server -> }`. With
 * [UD][org.kverbs.dsl.UD] the ends [send][CoroutinePeer.send] to each other; other datagrams need
 * [CoroutinePeer.destination].
 *
 * @throws AssertionError if a resource leaked, memory was misused, or the timeout passed
 */
public fun <V : ReceiveVerbs> connectedCoroutines(
    transport: Transport<V>,
    faults: Faults = Faults.NONE,
    seed: Long = 1,
    options: ConnectOptions = ConnectOptions.DEFAULTS,
    diagnostics: Boolean = false,
    timeout: Duration = 10.seconds,
    semantics: Semantics = Semantics.STRICT,
    limits: DeviceLimits = DeviceLimits.DEFAULTS,
    block: suspend ConnectedCoroutines.(client: CoroutinePeer<V>, server: CoroutinePeer<V>) -> Unit,
): Unit =
    onDevices(TestSettings(faults, seed, options, diagnostics, semantics, limits)) {
        client.opened { CoroutinePeer(it, transport) }.use { here ->
            server.opened { CoroutinePeer(it, transport) }.use { there ->
                here.connect(there, options)
                there.connect(here, options)
                val loop = loop { here.dispatcher.poll() + there.dispatcher.poll() }
                runOn(loop, timeout) { block(here, there) }.also {
                    here.end()
                    there.end()
                    watch.failOnLeaks { here.owns(it) || there.owns(it) }
                }
            }
        }
    }

/** Makes the loop that runs the block's coroutines: on the virtual clock, which it holds, or in real time. */
internal fun TestDevices.loop(poll: () -> Int): TestLoop {
    val element = WatchElement(watch)
    val clock = fabric?.clock() ?: return TestLoop(poll, element)
    clock.hold()
    return VirtualLoop(poll, element, clock)
}

/** Runs a block of coroutines. A failure shows the devices' counters. */
internal fun <R> TestDevices.runOn(
    loop: TestLoop,
    timeout: Duration,
    block: suspend ConnectedCoroutines.() -> R,
): R {
    begin()
    return counting(client, server) {
        loop.run(timeout) { ConnectedCoroutines(this@runOn, this, loop.background).block() }
    }
}
