package org.kverbs.ibtool.session

import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonElement

private val pretty = Json { prettyPrint = true }

/** The form of all `--json`: for people, too. */
internal fun pretty(json: JsonElement): String = pretty.encodeToString(JsonElement.serializer(), json)
