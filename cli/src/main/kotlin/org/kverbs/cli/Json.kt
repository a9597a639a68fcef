package org.kverbs.cli

import kotlinx.serialization.json.Json

/** The form of all `--json`: for people, too. */
internal val prettyJson = Json { prettyPrint = true }
