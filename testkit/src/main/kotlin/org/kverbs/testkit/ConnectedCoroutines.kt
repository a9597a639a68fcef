package org.kverbs.testkit

import kotlinx.coroutines.CoroutineScope
import org.kverbs.ConnectOptions
import org.kverbs.coroutines.connect
import org.kverbs.embedded.DeviceLimits
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.embedded.Faults
import org.kverbs.embedded.Semantics
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/** What the block of [connectedCoroutines] can do to what lies between its ends, and the scope of its coroutines. */
public class ConnectedCoroutines internal constructor(
    embedded: EmbeddedFabric?,
    scope: CoroutineScope,
) : ConnectedPair(embedded),
    CoroutineScope by scope

/**
 * [connectedPair] for suspend functions: runs a coroutine, and those that it launches, on two connected ends. What is said there of devices,
 * faults and leaks goes for it too; a buffer that was taken from an end's pool and not closed is a leak.
 *
 * ```
 * test("should answer") {
 *     connectedCoroutines { client, server ->
 *         val serving = launch { answer(server.qp, server.pool) }      // what is tested
 *         val answer = async { client.receive(64) }
 *         client.send("ping".encodeToByteArray())
 *         answer.await().decodeToString() shouldBe "pong"
 *         serving.cancel()
 *     }
 * }
 * ```
 *
 * **Threads.** It blocks the calling thread, which runs all coroutines of the block and polls for both ends between them.
 *
 * **Time.** On embedded devices time stands still while a coroutine of the block has something to do, and no longer: when all wait it moves
 * on to the next timer or packet. `delay` and `withTimeout` go by the same [clock][ConnectedPair.clock], so neither they nor retries take
 * real time, and the same seed gives the same run. A coroutine that goes to another dispatcher (`withContext(Dispatchers.IO)`) waits, and
 * for it the time is over at once. A real device has the real time.
 *
 * **A wait in vain.** When all coroutines wait, nothing is on its way and no other thread is known to change that, the
 * block is cancelled and the test fails after 2 s of real time, without waiting for the timeout. Known are
 * coroutines on another dispatcher, and threads that the test has started or that have used the devices.
 *
 * @param faults as for [connectedPair], and so [seed], [options], [diagnostics], [semantics] and [limits]
 * @param timeout real time that the block has; when it is over the block is cancelled, and the test fails
 * @throws AssertionError if something leaked or was misused, or the time was over
 * @throws InterruptedException if the thread is interrupted, which cancels the block
 * @throws IllegalStateException if faults are asked of a real device
 * @throws org.kverbs.DeviceNotFoundException if there is no device of that name; names those there are
 */
public fun <R> connectedCoroutines(
    faults: Faults = Faults.NONE,
    seed: Long = 1,
    options: ConnectOptions = ConnectOptions.DEFAULTS,
    diagnostics: Boolean = false,
    timeout: Duration = 10.seconds,
    semantics: Semantics = Semantics.STRICT,
    limits: DeviceLimits = DeviceLimits.DEFAULTS,
    block: suspend ConnectedCoroutines.(client: CoroutinePeer, server: CoroutinePeer) -> R,
): R =
    onDevices(faults, seed, diagnostics, semantics, limits) { fabric, device ->
        CoroutinePeer(device()).use { client ->
            CoroutinePeer(device()).use { server ->
                client.qp.connect(server.qp.endpoint(options), options)
                server.qp.connect(client.qp.endpoint(options), options)
                fabric?.setFaults(faults)
                fabric?.clock()?.hold()
                val ends = listOf(client.dispatcher, server.dispatcher)
                val loop = if (fabric == null) TestLoop(ends) else VirtualLoop(ends, fabric.clock())
                val before = open()
                counting(client.device, server.device) {
                    loop.run(timeout) { ConnectedCoroutines(fabric, this).block(client, server) }
                }.also {
                    client.end()
                    server.end()
                    failOnLeaks(before) { client.owns(it) || server.owns(it) }
                }
            }
        }
    }
