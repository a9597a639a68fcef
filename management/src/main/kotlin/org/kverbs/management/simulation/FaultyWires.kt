package org.kverbs.management.simulation

import java.util.BitSet
import kotlin.random.Random
import kotlin.time.Duration
import kotlin.time.Duration.Companion.nanoseconds

/** What becomes of one datagram. */
internal class Fate(
    val isLost: Boolean,
    val delay: Duration,
    val bytes: ByteArray = NOTHING,
    val copies: Int = 1,
) {
    private companion object {
        val NOTHING = ByteArray(0)
    }
}

/** Draws the faults of each datagram. */
internal class FaultyWires(
    private val faults: FabricFaults,
    seed: Long,
) {
    private val random = Random(seed)
    private val mute = BitSet()

    /** Whether a node's agents do not answer, though its links are up. */
    @Synchronized
    fun isMute(node: Int): Boolean = mute[node]

    @Synchronized
    fun setMute(
        node: Int,
        isMute: Boolean,
    ) {
        mute[node] = isMute
    }

    @Synchronized
    fun isBusy(): Boolean = happens(faults.busy)

    @Synchronized
    fun request(): Fate = Fate(happens(faults.loss), delay())

    @Synchronized
    fun reply(mad: ByteArray): Fate {
        val isLost = happens(faults.loss)
        val copies = if (happens(faults.duplicates)) 2 else 1
        return Fate(isLost, delay(), spoiled(mad), copies)
    }

    private fun happens(share: Double) = share > 0 && random.nextDouble() < share

    private fun delay(): Duration {
        val spread = (faults.longest - faults.shortest).inWholeNanoseconds
        return if (spread <= 0) faults.shortest else faults.shortest + random.nextLong(spread + 1).nanoseconds
    }

    private fun spoiled(mad: ByteArray): ByteArray {
        val bytes = mad.copyOf()
        if (happens(faults.wrongTransaction)) {
            Mads.setTransaction(bytes, Mads.transaction(bytes) xor (1 shl random.nextInt(FAR_BITS, Int.SIZE_BITS)))
        }
        if (happens(faults.wrongAttribute)) {
            Mads.setAttribute(bytes, Mads.attribute(bytes) xor (1 shl random.nextInt(Short.SIZE_BITS)))
        }
        if (happens(faults.wrongClass)) Mads.setClass(bytes, Mads.mgmtClass(bytes) xor (1 shl random.nextInt(7)))
        if (happens(faults.malformed)) {
            repeat(random.nextInt(1, MOST_CHANGES)) { bytes[random.nextInt(bytes.size)] = random.nextInt().toByte() }
        }
        return if (happens(faults.truncated)) bytes.copyOf(random.nextInt(bytes.size)) else bytes
    }

    private companion object {
        const val MOST_CHANGES = 8

        /** Ids of requests that follow each other differ in lower bits: a wrong id is no other request's. */
        const val FAR_BITS = 20
    }
}
