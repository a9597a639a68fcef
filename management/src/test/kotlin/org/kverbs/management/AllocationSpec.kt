package org.kverbs.management

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.longs.shouldBeLessThan
import org.kverbs.management.structures.GUIDInfo
import org.kverbs.management.structures.LinearForwardingTable
import org.kverbs.management.structures.MADHeader
import org.kverbs.management.structures.NodeRecord
import org.kverbs.management.structures.PortInfo
import java.lang.foreign.MemorySegment
import java.lang.management.ManagementFactory
import kotlin.random.Random

private const val READS = 20_000
private val threads = ManagementFactory.getThreadMXBean() as com.sun.management.ThreadMXBean

/** A read without boxes, which a function type would need. */
private fun interface Read {
    fun read(round: Int): Long
}

/** The bytes that [read] allocates in [READS] calls, after as many as the compiler of the JVM wants to see. */
private fun allocated(read: Read): Long {
    var sink = 0L

    fun round() {
        for (i in 0 until READS) sink += read.read(i)
    }
    repeat(20) { round() }
    val id = Thread.currentThread().threadId()
    val before = threads.getThreadAllocatedBytes(id)
    round()
    return (threads.getThreadAllocatedBytes(id) - before).also { check(sink != 1L) }
}

/** Less than a byte for each read: what the measuring itself allocates. */
private const val NOTHING = READS.toLong()

class AllocationSpec :
    FunSpec({
        val memory = MemorySegment.ofArray(Random(5).nextBytes(2048))

        test("should allocate nothing for numbers, flags, enumerations, LIDs and GUIDs") {
            val port = PortInfo.at(memory, 64)
            allocated {
                port.mKey + port.lmc + port.lid.value + port.portState.value + port.capabilityMask.value
            } shouldBeLessThan
                NOTHING
            allocated { if (port.clientReregister) 1L else port.linkRoundTripLatency.toLong() } shouldBeLessThan NOTHING
            val header = MADHeader.at(memory)
            allocated { header.transactionID + header.mgmtClass.value + header.method.value } shouldBeLessThan NOTHING
        }

        test("should allocate nothing for a field of a nested structure") {
            val record = NodeRecord.at(memory, 56)
            allocated { record.nodeInfo.nodeGUID.value + record.nodeInfo.nodeType.value } shouldBeLessThan NOTHING
        }

        test("should allocate nothing for an assignment") {
            val port = PortInfo.at(memory, 64)
            allocated { i ->
                port.lmc = i and 7
                port.mKey = i.toLong()
                port.localPortNum.toLong()
            } shouldBeLessThan NOTHING
        }

        test("should allocate nothing for an element of an array of numbers that is at hand") {
            val ports = LinearForwardingTable.at(memory, 64).portBlock
            allocated { i -> ports[i and 63].toLong() } shouldBeLessThan NOTHING
        }

        test("should see what it measures: an array of elements is an object") {
            val guids = GUIDInfo.at(memory, 64)
            val kept = arrayOfNulls<Any>(16)
            check(
                allocated { i ->
                    kept[i and 15] = guids.guidBlock
                    1L
                } > NOTHING,
            )
        }
    })
