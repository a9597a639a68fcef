package org.kverbs.ibtool.session

import kotlinx.serialization.ExperimentalSerializationApi
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonPrimitive

private val pretty = Json { prettyPrint = true }

/** The form of all `--json`: for people, too. Characters that change what a terminal shows are escaped. */
internal fun pretty(json: JsonElement): String =
    pretty.encodeToString(JsonElement.serializer(), json).let { text ->
        if (text.none { it.isHidden() && it != '\n' }) return text
        text.map { if (it.isHidden() && it != '\n') "\\u%04x".with(it.code) else "$it" }.joinToString("")
    }

/** A counter as a number of JSON: all its 64 bits are a number from 0 up. */
@OptIn(ExperimentalSerializationApi::class)
internal fun unsigned(counter: Long): JsonPrimitive = JsonPrimitive(counter.toULong())
