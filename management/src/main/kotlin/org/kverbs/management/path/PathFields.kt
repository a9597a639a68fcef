package org.kverbs.management.path

import org.kverbs.attributes.Gid
import org.kverbs.attributes.GlobalRoute
import org.kverbs.structures.Lid

private val separators = Regex("[ ,]+")

private const val SOURCE = "slid"
private const val DESTINATION = "dlid"
private const val SERVICE_LEVEL = "sl"
private const val PARTITION = "pkey"
private const val QUEUE_PAIR = "dqpn"
private const val PEER = "dgid"
private const val OWN_GID = "sgid_index"
private const val HOP_LIMIT = "hop_limit"
private const val FLOW_LABEL = "flow_label"
private const val TRAFFIC_CLASS = "traffic_class"
private val known =
    listOf(
        DESTINATION,
        SOURCE,
        SERVICE_LEVEL,
        PARTITION,
        QUEUE_PAIR,
        PEER,
        OWN_GID,
        HOP_LIMIT,
        FLOW_LABEL,
        TRAFFIC_CLASS,
    )

/** Reads and prints the form `dlid=9 slid=8 sl=0 pkey=0xffff dqpn=1`, which has all that a [LidPath] holds. */
internal object PathFields {
    fun print(path: LidPath): String =
        buildList {
            add("$DESTINATION=${path.destination}")
            path.source?.let { add("$SOURCE=$it") }
            add("$SERVICE_LEVEL=${path.serviceLevel}")
            add("$PARTITION=0x${path.partitionKey.toString(16).padStart(4, '0')}")
            add("$QUEUE_PAIR=${path.destinationQueuePair}")
            path.globalRoute?.let {
                add("$PEER=${it.dgid().toCompactString()}")
                add("$OWN_GID=${it.sgidIndex()}")
                add("$HOP_LIMIT=${it.hopLimit()}")
                add("$FLOW_LABEL=${it.flowLabel()}")
                add("$TRAFFIC_CLASS=${it.trafficClass()}")
            }
        }.joinToString(" ")

    /**
     * @param number reads a number, decimal or hexadecimal
     * @param shown makes text from outside fit for a message
     */
    fun parse(
        text: String,
        number: (String) -> Int,
        shown: (String) -> String,
    ): LidPath {
        val fields = HashMap<String, String>()
        for (word in text.split(separators).filter { it.isNotEmpty() }) {
            val name = word.substringBefore('=')
            require('=' in word && name in known) {
                "\"${shown(word)}\" is not a field of a path; give NAME=VALUE with ${known.joinToString()}"
            }
            require(fields.put(name, word.substringAfter('=')) == null) { "the path has $name twice" }
        }

        fun value(
            name: String,
            otherwise: Int,
        ): Int = fields[name]?.let(number) ?: otherwise

        val destination = requireNotNull(fields[DESTINATION]) { "the path has no $DESTINATION; give $DESTINATION=LID" }
        val peer = fields[PEER]
        require(peer != null || known.drop(known.indexOf(OWN_GID)).none { it in fields }) {
            "the path has fields of a global route, but no $PEER; give $PEER=GID"
        }
        return LidPath(
            Lid(number(destination)),
            fields[SOURCE]?.let { Lid(number(it)) },
            value(SERVICE_LEVEL, 0),
            value(PARTITION, LidPath.DEFAULT_PARTITION),
            value(QUEUE_PAIR, 1),
            peer?.let {
                GlobalRoute(
                    Gid.parse(it),
                    value(FLOW_LABEL, 0),
                    value(OWN_GID, 0),
                    value(HOP_LIMIT, GlobalRoute.DEFAULT_HOP_LIMIT),
                    value(TRAFFIC_CLASS, 0),
                )
            },
        )
    }
}
