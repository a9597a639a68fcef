package org.kverbs.ibtool.top

import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.addJsonObject
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import kotlinx.serialization.json.putJsonArray
import org.kverbs.ibtool.fabric.SubnetJson
import org.kverbs.ibtool.health.PortText
import org.kverbs.ibtool.session.NodeNames
import org.kverbs.ibtool.session.unsigned
import org.kverbs.ibtool.session.with

/** The rates of ports as a table, the busiest or the worst first. */
internal class TopTable(
    private val names: NodeNames,
    private val order: Order,
    private val rows: Int,
) {
    /** By what the rows are sorted. */
    enum class Order(
        val key: String,
        val value: (PortRate) -> Double,
    ) {
        RATE("rate", { it.sent + it.received }),
        ERRORS("errors", { it.errors.toULong().toDouble() }),
        ALL_ERRORS("all-errors", { it.allErrors.toULong().toDouble() }),
    }

    private val texts = PortText(names)
    private val subnets = SubnetJson(names)

    /** Sorts the rates. Of equal ones the busier comes first. */
    fun sorted(rates: List<PortRate>): List<PortRate> =
        rates.sortedWith(compareByDescending(order.value).thenByDescending(Order.RATE.value)).take(rows)

    fun text(rates: List<PortRate>): String =
        buildString {
            append("%12s %12s %12s %8s %10s  port\n".with("sent B/s", "received B/s", "packets/s", "errors", "all"))
            for (rate in sorted(rates)) {
                val numbers =
                    arrayOf<Any>(
                        rate.sent,
                        rate.received,
                        rate.packets,
                        "${rate.errors.toULong()}",
                        "${rate.allErrors.toULong()}",
                    )
                append("%12.0f %12.0f %12.0f %8s %10s  ".with(*numbers)).append(texts.of(rate.port)).append('\n')
            }
        }

    fun json(rates: List<PortRate>): JsonObject =
        buildJsonObject {
            putJsonArray("ports") {
                for (rate in sorted(rates)) {
                    addJsonObject {
                        with(subnets) { end(rate.port) }
                        put("sentBytesPerSecond", rate.sent)
                        put("receivedBytesPerSecond", rate.received)
                        put("packetsPerSecond", rate.packets)
                        put("errors", unsigned(rate.errors))
                        put("allErrors", unsigned(rate.allErrors))
                    }
                }
            }
        }
}
