package org.kverbs.micrometer

import org.kverbs.Device
import org.kverbs.PortTraffic
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.TimeMark
import kotlin.time.TimeSource

/** Reads the counters of a port, and keeps a reading for the meters that are asked one after the other. */
internal class PortReadings(
    private val device: Device,
    val number: Int,
) {
    private class Reading(
        val counters: Map<String, Long>,
        val until: TimeMark,
    ) {
        val traffic: PortTraffic = PortTraffic.of(counters)
    }

    @Volatile
    private var last: Reading? = null

    private fun reading(): Reading =
        last?.takeUnless { it.until.hasPassedNow() }
            ?: Reading(device.counters(number), TimeSource.Monotonic.markNow() + FRESH).also { last = it }

    fun counters(): Map<String, Long> = reading().counters

    fun traffic(): PortTraffic = reading().traffic

    private companion object {
        val FRESH = 500.milliseconds
    }
}
