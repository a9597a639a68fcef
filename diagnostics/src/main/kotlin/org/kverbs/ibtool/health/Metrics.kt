package org.kverbs.ibtool.health

/** Writes metrics in the text format of Prometheus: each with its help, its type and its samples together. */
internal class Metrics {
    private val text = StringBuilder()

    /** The samples of one metric. */
    inner class Samples(
        private val name: String,
    ) {
        /** Adds a sample. A label's value can hold anything. */
        fun add(
            value: Long,
            vararg labels: Pair<String, String>,
        ) {
            text.append(name)
            if (labels.isNotEmpty()) {
                text.append(labels.joinToString(",", "{", "}") { (label, of) -> "$label=\"${escaped(of)}\"" })
            }
            text.append(' ').append(value.toULong()).append('\n')
        }
    }

    /** A value that goes up and down. */
    fun gauge(
        name: String,
        help: String,
        samples: Samples.() -> Unit,
    ): Unit = metric(name, "gauge", help, samples)

    /** A value that goes up, and sometimes begins anew. Its name ends with `_total`. */
    fun counter(
        name: String,
        help: String,
        samples: Samples.() -> Unit,
    ): Unit = metric(name, "counter", help, samples)

    private fun metric(
        name: String,
        type: String,
        help: String,
        samples: Samples.() -> Unit,
    ) {
        text.append("# HELP $name $help\n# TYPE $name $type\n")
        Samples(name).samples()
    }

    private fun escaped(value: String) = value.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n")

    /** Returns the metrics so far. */
    override fun toString(): String = "$text"
}
