package org.kverbs.benchmarks

import kotlinx.coroutines.runBlocking
import org.kverbs.management.fabric.fabric
import org.kverbs.management.subnet.Subnet
import org.kverbs.management.subnet.discover
import org.kverbs.management.subnet.readSubnet
import org.kverbs.management.subnet.writeTo
import org.kverbs.management.transport.IbsimTransport
import java.io.ByteArrayInputStream
import java.io.ByteArrayOutputStream
import kotlin.time.DurationUnit.MILLISECONDS
import kotlin.time.measureTimedValue

private const val COPIES = 10
private const val DOWN = 18
private const val SPINE_PORTS = 36
private const val FIRST_GUID = 0x2_c902_0000_0000

/**
 * Discovers the fabric of an ibsim again and again: `Discovering PORT ROUNDS OUTSTANDING`. Prints the number of nodes,
 * the milliseconds of the first discovery and of the median of the last half, which the compilers of the JVM no longer
 * disturb, and the bytes that the subnet keeps on the heap.
 * `Discovering net HOSTS` prints the net file instead.
 */
fun main(arguments: Array<String>) {
    if (arguments.first() == "net") return print(netFile(arguments[1].toInt()))
    val (port, rounds, outstanding) = arguments.map { it.toInt() }
    var subnet: Subnet? = null
    val millis =
        List(rounds) {
            fabric(IbsimTransport.connect(port = port)) { outstanding(outstanding) }.use { fabric ->
                val (found, time) = measureTimedValue { runBlocking { fabric.discover() } }
                subnet = found
                time.toDouble(MILLISECONDS)
            }
        }
    val found = checkNotNull(subnet)
    check(found.problems.isEmpty()) { found.problems.take(10).joinToString("\n") }
    val nodes = found.nodes.size
    println(
        "%d %.0f %.0f %d".format(
            nodes,
            millis.first(),
            millis.drop(rounds / 2).sorted().let {
                it[it.size / 2]
            },
            kept(found),
        ),
    )
}

/** What a copy of the subnet, by way of its file, takes on the heap. */
private fun kept(subnet: Subnet): Long {
    val file = ByteArrayOutputStream().also { subnet.writeTo(it) }.toByteArray()
    val before = used()
    val copies = List(COPIES) { readSubnet(ByteArrayInputStream(file)) }
    val kept = used() - before
    check(copies.all { it == subnet })
    return kept / COPIES
}

private fun used(): Long {
    repeat(3) { System.gc() }
    return Runtime.getRuntime().run { totalMemory() - freeMemory() }
}

private fun id(number: Int) = (FIRST_GUID + number * 0x100L).toString(16).padStart(16, '0')

/** Hosts below leaf switches with as many links up to spine switches as down to hosts. */
private fun netFile(hosts: Int): String {
    val leaves = (hosts + DOWN - 1) / DOWN
    val spines = (leaves + 1) / 2
    val links = List(leaves + spines) { mutableListOf<String>() }
    val text = StringBuilder()

    fun leaf(index: Int) = "S-${id(index)}"

    fun spine(index: Int) = "S-${id(leaves + index)}"
    for (host in 0 until hosts) {
        val guid = id(leaves + spines + host)
        val leaf = host / DOWN
        val port = host % DOWN + 1
        links[leaf] += "[$port] \"H-$guid\"[1] # lid 0 4xQDR"
        text.append("caguid=0x$guid\nCa 1 \"H-$guid\" # \"host $host\"\n")
        text.append("[1] \"${leaf(leaf)}\"[$port] # lid 0 lmc 0 4xQDR\n\n")
    }
    for (wire in 0 until leaves * DOWN) {
        val leaf = wire / DOWN
        val leafPort = DOWN + 1 + wire % DOWN
        val spinePort = wire / spines + 1
        check(spinePort <= SPINE_PORTS) { "a spine switch has $SPINE_PORTS ports" }
        links[leaf] += "[$leafPort] \"${spine(wire % spines)}\"[$spinePort] # lid 0 4xQDR"
        links[leaves + wire % spines] += "[$spinePort] \"${leaf(leaf)}\"[$leafPort] # lid 0 4xQDR"
    }
    for ((number, of) in links.withIndex()) {
        text.append("switchguid=0x${id(number)}\n")
        text.append("Switch $SPINE_PORTS \"S-${id(number)}\" # \"switch $number\" base port 0 lid 0 lmc 0\n")
        text.append(of.joinToString("\n", postfix = "\n\n"))
    }
    return text.toString()
}
