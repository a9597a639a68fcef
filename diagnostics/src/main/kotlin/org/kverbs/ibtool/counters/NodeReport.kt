package org.kverbs.ibtool.counters

import kotlinx.serialization.json.JsonObject

/** What `ibqueryerrors` found out of a node: its lines, and what it adds to the summary. */
internal class NodeReport {
    val text = StringBuilder()
    val json = ArrayList<JsonObject>()
    val warnings = ArrayList<String>()
    var portsChecked = 0
    var badPorts = 0
    var isBad = false
    var failures = 0

    /** Reports a question without an answer. */
    fun failed(message: String) {
        warnings += message
        failures++
    }
}
