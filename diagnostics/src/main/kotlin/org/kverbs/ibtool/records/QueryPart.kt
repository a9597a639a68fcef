package org.kverbs.ibtool.records

import org.kverbs.ibtool.records.RecordKind.MEMBER
import org.kverbs.ibtool.records.RecordKind.PATH
import org.kverbs.ibtool.session.number
import org.kverbs.structures.Structure

private const val SELECTOR_SHIFT = 6
private const val VALUE_MASK = 0x3fL
private const val BYTE = 0xffL

/**
 * An option of `saquery` that says what a path record or a multicast record must hold.
 *
 * @property names the option
 * @property fields the field of each kind of record that has it
 * @property help what the option is
 */
internal enum class QueryPart(
    val names: List<String>,
    val fields: Map<RecordKind, String>,
    val help: String,
) {
    SLID("--slid", mapOf(PATH to "slid"), "The LID at the beginning of a path"),
    DLID("--dlid", mapOf(PATH to "dlid"), "The LID at the end of a path"),
    MLID("--mlid", mapOf(MEMBER to "mlid"), "The LID of a multicast group"),
    SGID("--sgid", mapOf(PATH to "sgid"), "The GID at the beginning of a path"),
    DGID("--dgid", mapOf(PATH to "dgid"), "The GID at the end of a path"),
    GID("--gid", mapOf(MEMBER to "portGID"), "The GID of a member of a multicast group"),
    MGID("--mgid", mapOf(MEMBER to "mgid"), "The GID of a multicast group"),
    REVERSIBLE("--reversible -r", mapOf(PATH to "reversible"), "1 for a path that leads back, too"),
    NUMB_PATH("--numb_path -n", mapOf(PATH to "numbPath"), "The most paths to give"),
    PKEY("--pkey", both("pKey"), "The partition key"),
    QOS_CLASS("--qos_class -Q", mapOf(PATH to "qosClass"), "The class of the quality of service"),
    SL("--sl", both("sl"), "The service level"),
    MTU("--mtu -M", both("mtuSelector+mtu"), "The MTU and its selector in one byte, such as 0x84 for exactly 2048"),
    RATE("--rate -R", both("rateSelector+rate"), "The rate and its selector in one byte"),
    LIFETIME(
        "--pkt_lifetime",
        both("packetLifeTimeSelector+packetLifeTime"),
        "The life time of a packet and its selector in one byte",
    ),
    QKEY("--qkey -q", mapOf(MEMBER to "qKey"), "The queue key of a multicast group"),
    TCLASS("--tclass -T", both("tClass"), "The traffic class"),
    FLOW_LABEL("--flow_label -F", both("flowLabel"), "The flow label"),
    HOP_LIMIT("--hop_limit -H", both("hopLimit"), "The hop limit"),
    SCOPE("--scope", mapOf(MEMBER to "scope"), "The scope of a multicast group"),
    JOIN_STATE("--join_state -J", mapOf(MEMBER to "joinState"), "How a port has joined a multicast group"),
    PROXY_JOIN("--proxy_join -X", mapOf(MEMBER to "proxyJoin"), "1 if another port has joined for a member"),
    SERVICE_ID("--service_id", mapOf(PATH to "serviceID"), "The id of a service"),
    ;

    constructor(names: String, fields: Map<RecordKind, String>, help: String) : this(names.split(' '), fields, help)

    /**
     * Assigns [text] to the field of [record].
     *
     * @throws IllegalArgumentException if it is no value of the field
     */
    fun assign(
        record: Structure,
        field: String,
        text: String,
    ) {
        if ('+' in field) {
            val value = number(text)
            require(value in 0..BYTE) { "${names.first()} takes one byte, not $text" }
            record[field.substringBefore('+')] = value shr SELECTOR_SHIFT
            record[field.substringAfter('+')] = value and VALUE_MASK
        } else {
            Assignment(field, text).on(record)
        }
    }
}

private fun both(field: String) = mapOf(PATH to field, MEMBER to field)
