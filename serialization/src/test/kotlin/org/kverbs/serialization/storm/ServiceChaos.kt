package org.kverbs.serialization.storm

import kotlinx.coroutines.delay
import org.kverbs.embedded.Faults
import kotlin.random.Random
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.TimeMark

/** Injects faults while services run: one now and then, determined by the seed. */
internal class ServiceChaos(
    private val storm: ServiceStorm,
    private val random: Random,
) {
    /** The number of faults of each kind. */
    val done = sortedMapOf<String, Int>()

    suspend fun rage(end: TimeMark) {
        while (end.hasNotPassedNow()) {
            delay(random.nextLong(20, 150).milliseconds)
            when (random.nextInt(10)) {
                in 0..4 -> faults()
                in 5..6 -> close()
                in 7..8 -> flap()
                else -> restart()
            }
        }
    }

    private fun note(what: String) {
        done.merge(what, 1, Int::plus)
    }

    private fun faults() {
        note("faults")
        storm.fabric.setFaults(
            when (random.nextInt(5)) {
                0 -> Faults.NONE.loss(0.02)
                1 -> Faults.NONE.duplication(0.05)
                2 -> Faults.NONE.reordering(0.05)
                3 -> Faults.BAD_LINE
                else -> Faults.NONE
            },
        )
    }

    /** Ends the server's side of a connection. */
    private fun close() {
        note("connections closed")
        storm.servers
            .random(random)
            .connections
            .firstOrNull()
            ?.close()
    }

    private suspend fun flap() {
        note("links down and up")
        val device = storm.devices.random(random)
        storm.fabric.linkDown(device)
        delay(if (random.nextInt(8) == 0) 150 else random.nextLong(1, 12))
        storm.fabric.linkUp(device)
    }

    private suspend fun restart() {
        note("servers restarted")
        storm.servers.random(random).restart(random.nextBoolean())
    }
}
