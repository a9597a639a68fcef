package org.kverbs.benchmarks.bench

/** Sends and receives between two ends that poll, each with receives that are posted ahead. */
internal abstract class PolledExchange : Exchange {
    protected abstract val near: PolledEnd
    protected abstract val far: PolledEnd

    final override fun ask(
        bytes: Int,
        count: Int,
    ) = repeat(count) {
        near.post(bytes)
        near.await(sends = 1, receives = 1)
    }

    final override fun answer(
        bytes: Int,
        count: Int,
    ) = repeat(count) {
        far.await(sends = 0, receives = 1)
        far.post(bytes)
        far.await(sends = 1, receives = 0)
    }

    final override fun send(
        bytes: Int,
        count: Int,
    ) {
        repeat(minOf(PolledEnd.SENDS, count)) { near.post(bytes) }
        for (done in 1..count) {
            near.await(sends = 1, receives = 0)
            if (done + PolledEnd.SENDS <= count) near.post(bytes)
        }
    }

    final override fun receive(
        bytes: Int,
        count: Int,
    ) = far.await(sends = 0, receives = count)
}
