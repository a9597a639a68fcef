package org.kverbs.coroutines.storm

import kotlinx.coroutines.delay
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.embedded.Faults
import kotlin.random.Random

/** Injects the faults of a storm: one now and then, determined by the seed. */
class StormChaos(
    private val storm: Storm,
    private val fabric: EmbeddedFabric,
    private val ledger: StormLedger,
    private val random: Random,
) {
    /** The number of faults of each kind. */
    val done = sortedMapOf<String, Int>()

    suspend fun rage() {
        while (!ledger.isOver) {
            // After a number of operations, or soon if no operation ends.
            val next = ledger.begun + PACE
            var waits = 0
            while (!ledger.isOver && ledger.begun < next && waits++ < MOST_WAITS) delay(1)
            one()
        }
    }

    private suspend fun one() {
        val what = random.nextInt(100)
        when {
            what < 50 -> faults()
            what < 75 -> close()
            what < 93 -> flap()
            what < 96 -> closeDispatcher()
            what < 98 -> closeDevice()
            else -> die()
        }
    }

    private fun note(what: String) {
        done.merge(what, 1, Int::plus)
    }

    private fun faults() {
        note("faults")
        fabric.setFaults(
            when (random.nextInt(6)) {
                0 -> Faults.NONE.loss(0.02)
                1 -> Faults.NONE.duplication(0.05)
                2 -> Faults.NONE.reordering(0.05)
                3 -> Faults.BAD_LINE
                else -> Faults.NONE
            },
        )
    }

    private fun close() {
        note("queue pairs closed")
        val lane = storm.lanes.random(random)
        val link = lane.linkOrNull() ?: return
        (if (random.nextBoolean()) link.client else link.server).qp.close()
        lane.broken(link)
    }

    private suspend fun flap() {
        note("links down and up")
        val device = (storm.servers + storm.client).random(random).device
        fabric.linkDown(device)
        delay(if (random.nextInt(8) == 0) 150 else random.nextLong(1, 12))
        fabric.linkUp(device)
    }

    private suspend fun closeDispatcher() {
        note("dispatchers closed")
        val node = storm.servers.random(random)
        node.dispatcher.close()
        storm.replace(node)
    }

    private suspend fun closeDevice() {
        note("devices closed")
        val node = storm.servers.random(random)
        node.context.close()
        storm.replace(node)
    }

    /** Kills a peer: every operation that waits for it must end. */
    private suspend fun die() {
        note("peers died")
        val node = storm.servers.random(random)
        fabric.kill(node.device)
        delay(20)
        storm.replace(node)
    }

    private companion object {
        const val PACE = 1000
        const val MOST_WAITS = 20
    }
}
