package org.kverbs.ibtool.congestion

import kotlinx.serialization.json.JsonElement

/** What a query of congestion control found out, as text and as JSON. */
internal class CongestionReport(
    val text: String,
    val json: JsonElement,
)
