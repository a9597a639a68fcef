package org.kverbs.cli.perf

import me.tongfei.progressbar.ConsoleProgressBarConsumer
import me.tongfei.progressbar.ProgressBarBuilder
import org.HdrHistogram.Histogram
import java.io.PrintStream
import kotlin.concurrent.thread

/** Shows a bar for each row while it is measured, and hands everything on. */
internal class PerfProgress(
    private val options: PerfOptions,
    private val next: PerfListener,
    private val out: PrintStream,
) : PerfListener by next,
    AutoCloseable {
    private var row: AutoCloseable? = null

    override fun begun(
        size: Int,
        measured: Measured,
        isMeasuring: Boolean,
    ) {
        if (isMeasuring) row = bar(size, measured)
        next.begun(size, measured, isMeasuring)
    }

    override fun row(
        row: PerfRow?,
        times: Histogram?,
    ) {
        close()
        next.row(row, times)
    }

    /** Removes the bar. */
    override fun close() {
        row?.close()
        row = null
    }

    private fun bar(
        size: Int,
        measured: Measured,
    ): AutoCloseable {
        val expected = options.iterations.toLong() * options.queuePairs
        val bar =
            ProgressBarBuilder()
                .setTaskName("$size bytes")
                .setInitialMax(if (options.duration == null) expected else -1)
                .showSpeed()
                .clearDisplayOnFinish()
                .setConsumer(ConsoleProgressBarConsumer(out, WIDTH))
                .build()
        val ticker =
            thread(isDaemon = true, name = "kverbs-perf-progress") {
                try {
                    while (true) {
                        bar.stepTo(measured.done)
                        Thread.sleep(TICK_MILLIS)
                    }
                } catch (_: InterruptedException) {
                    // the row is done
                }
            }
        return AutoCloseable {
            ticker.interrupt()
            ticker.join()
            bar.stepTo(measured.done)
            bar.close()
        }
    }

    private companion object {
        const val WIDTH = 80
        const val TICK_MILLIS = 200L
    }
}
