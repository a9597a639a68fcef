package org.kverbs.cli.perf

import org.HdrHistogram.Histogram
import org.kverbs.Context

/** Hears of the course of a measurement, on the thread that runs it. */
internal interface PerfListener {
    /** The device of an end is open. */
    fun opened(device: Context) = Unit

    /** This end waits for its client at a TCP port. */
    fun listening(port: Int) = Unit

    /** The queue pairs have met: each one of this end with the peer's. */
    fun connected(places: List<Pair<Meeting.Place, Meeting.Place>>) = Unit

    /** A row begins; [isMeasuring] is false if the peer alone sends. */
    fun begun(
        size: Int,
        measured: Measured,
        isMeasuring: Boolean,
    ) = Unit

    /** A row is done; null if neither end can tell its figures. The times are there if this end took them. */
    fun row(
        row: PerfRow?,
        times: Histogram?,
    ) = Unit
}
