package org.kverbs.testkit

import kotlinx.coroutines.CoroutineScope
import org.kverbs.ConnectOptions
import org.kverbs.dsl.RC
import org.kverbs.dsl.RcVerbs
import org.kverbs.dsl.Transport
import org.kverbs.dsl.Verbs
import org.kverbs.embedded.DeviceLimits
import org.kverbs.embedded.Faults
import org.kverbs.embedded.Semantics
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/** What the block of [connectedCoroutines] can do to what lies between its ends, and the scope of its coroutines. */
public open class ConnectedCoroutines internal constructor(
    devices: TestDevices,
    scope: CoroutineScope,
    /**
     * Where coroutines run that serve until the end of the block: they are cancelled then, and the block doesn't wait
     * for them before. What one throws fails the test at once. As in `runTest`.
     */
    public val backgroundScope: CoroutineScope,
) : ConnectedPair(devices),
    CoroutineScope by scope

/**
 * [connectedPair] for suspend functions: runs a coroutine, and those that it launches, on two connected ends. What is
 * said there of devices, faults and leaks goes for it too; a buffer that was taken from an end's pool and not closed is
 * a leak.
 *
 * ```
 * test("should answer") {
 *     connectedCoroutines { client, server ->
 *         backgroundScope.launch { answer(server.qp, server.pool) }      // what is tested
 *         val answer = async { client.receive(64) }
 *         client.send("ping".encodeToByteArray())
 *         answer.await().decodeToString() shouldBe "pong"
 *     }
 * }
 * ```
 *
 * **Threads.** It blocks the calling thread, which runs all coroutines of the block and polls for both ends between
 * them. So it is called like a function that doesn't suspend: within `runTest` and Kotest's `coroutineTestScope`, too,
 * whose time it doesn't touch.
 *
 * **Time.** On embedded devices time stands still while a coroutine of the block has something to do, and no longer:
 * when all wait it moves on to the next timer or packet. `delay` and `withTimeout` go by the same
 * [clock][ConnectedPair.clock], so neither they nor retries take real time, and the same seed gives the same run. A
 * coroutine that goes to another dispatcher (`withContext(Dispatchers.IO)`) waits, and for it the time is over at once.
 * A real device has the real time.
 *
 * **Failures.** The first exception of the block, of a coroutine in it, or in [ConnectedCoroutines.backgroundScope],
 * fails the test; the others are suppressed in it. What a coroutine throws in a scope of its own, without an exception
 * handler, fails the test, too, unless blocks of other tests run on other threads meanwhile.
 *
 * **A wait in vain.** When all coroutines wait, nothing is on its way and no other thread is known to change that, the
 * block is cancelled and the test fails after 2 s of real time, without waiting for the timeout. Known are
 * coroutines on another dispatcher, and threads that the test has started or that have used the devices.
 *
 * **A blocked thread.** A coroutine that keeps the thread for the whole timeout, by `Thread.sleep` or a lock, is
 * interrupted, and the test fails with the thread's stack trace. A wait that ignores interrupts, as `synchronized`,
 * goes on; the stack trace is logged then (System.Logger `org.kverbs.testkit`).
 *
 * @param faults as for [connectedPair], and so [seed], [options], [diagnostics], [semantics] and [limits]
 * @param timeout real time that the block has; when it is over the block is cancelled, and the test fails
 * @throws AssertionError if something leaked or was misused, or the time was over
 * @throws InterruptedException if the thread is interrupted, which cancels the block
 * @throws IllegalStateException if faults are asked of a real device
 * @throws org.kverbs.DeviceNotFoundException if there is no device of that name; names those there are
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
 * The same with queue pairs of another type: `connectedCoroutines(UC) { client, server -> }`, or with
 * [UD][org.kverbs.dsl.UD], whose ends [send][CoroutinePeer.send] to each other, and elsewhere by
 * [CoroutinePeer.destination].
 *
 * @throws AssertionError if something leaked or was misused, or the time was over
 */
public fun <V : Verbs> connectedCoroutines(
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

/** What runs the block's coroutines: on the virtual clock, which it holds, or in real time. */
internal fun TestDevices.loop(poll: () -> Int): TestLoop {
    val element = WatchElement(watch)
    val clock = fabric?.clock() ?: return TestLoop(poll, element)
    clock.hold()
    return VirtualLoop(poll, element, clock)
}

/** Runs a block of coroutines whose failure shows what the devices have counted. */
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
