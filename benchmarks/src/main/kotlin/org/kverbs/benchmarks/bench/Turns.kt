package org.kverbs.benchmarks.bench

/** Lets the other end run on a machine with few processors: spins for a while, and then yields. For one thread. */
internal class Turns {
    private var idle = 0

    /** Called when something came. */
    fun reset() {
        idle = 0
    }

    /** Called when nothing came. */
    fun pause() {
        if (idle++ < SPINS) Thread.onSpinWait() else Thread.yield()
    }

    private companion object {
        const val SPINS = 256
    }
}
