package org.kverbs.structures

import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonElement

/** How deep JSON of a structure can be: descriptions nest less. */
private const val DEEPEST = 64

/** Parses JSON that need not be trusted. The parser takes the thread's stack for each bracket within another one. */
internal object JsonDepth {
    fun parsed(text: String): JsonElement {
        require(!isDeeper(text)) { "the JSON is nested deeper than $DEEPEST brackets; no structure is" }
        return Json.parseToJsonElement(text)
    }

    private fun isDeeper(text: String): Boolean {
        var depth = 0
        var isText = false
        var at = 0
        while (at < text.length && depth <= DEEPEST) {
            when (text[at]) {
                '"' -> isText = !isText
                '\\' -> if (isText) at++
                '[', '{' -> if (!isText) depth++
                ']', '}' -> if (!isText) depth--
            }
            at++
        }
        return depth > DEEPEST
    }
}
