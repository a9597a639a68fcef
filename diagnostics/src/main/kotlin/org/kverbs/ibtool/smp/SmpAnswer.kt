package org.kverbs.ibtool.smp

import kotlinx.serialization.json.JsonElement

/** What a query found out, as text and as JSON. */
internal class SmpAnswer(
    val text: String,
    val json: JsonElement,
)
