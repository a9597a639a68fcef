package org.kverbs.management.fabric

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.test.TestScope
import kotlinx.coroutines.test.runTest
import org.kverbs.attributes.Gid
import org.kverbs.management.path.lid
import org.kverbs.management.rmpp.Wire
import org.kverbs.management.sa.SaPathNotFoundException
import org.kverbs.management.structures.InformInfo
import org.kverbs.management.structures.MADStatusInvalidField
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.NodeRecord
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.Notice
import org.kverbs.management.structures.NoticeType
import org.kverbs.management.structures.OpenIBPing
import org.kverbs.management.structures.PathRecord
import org.kverbs.management.structures.PortCounters
import org.kverbs.management.structures.SAStatus
import org.kverbs.structures.Lid
import java.nio.file.Path
import kotlin.io.path.readText

private val page by lazy { Path.of(System.getProperty("kverbs.root"), "docs", "management.md").readText() }

private val host =
    NodeRecord {
        lid = Lid(4)
        nodeDescription.nodeString = "second host"
    }

/** Runs [body] on a port whose administrator has one host, at LID 4, and returns the lines that it printed. */
private fun printed(body: suspend TestScope.(Fabric, (Any?) -> Unit, Fabric) -> Unit): List<String> {
    val lines = mutableListOf<String>()
    runTest {
        val wire = Wire(backgroundScope)
        val context = backgroundScope.coroutineContext
        val manager = fabric(wire.second) { context(context) }
        manager.serve(ManagementClass.SUBN_ADM) { request ->
            when (request.attributeId) {
                InformInfo.attributeId -> request.answer(request.value(InformInfo))
                PathRecord.attributeId -> request.refuse(SAStatus.NO_RECORDS)
                else -> request.answerRecords(listOf(host))
            }
        }
        body(fabric(wire.first) { context(context) }, { lines += "$it" }, manager)
    }
    return lines
}

class ManagementPageSpec :
    FunSpec({
        test("should query records") {
            printed { fabric, println, _ ->
                val hosts = fabric.sa.records<NodeRecord> { nodeInfo.nodeType = NodeType.CA }
                for (host in hosts) println("${host.lid} ${host.nodeDescription.nodeString}")
            } shouldContainExactly listOf("4 second host")
        }

        test("should tell what the page shows if there is no path") {
            val lines =
                printed { fabric, print, _ ->
                    val println = print
                    try {
                        val found = fabric.sa.path(Gid.parse("fe80::2:c903:0:1492"))
                        println("$found")
                        val counters = fabric.get<PortCounters>(found.path) { portSelect = 1 }
                        println(counters.linkDownedCounter)
                    } catch (e: SaPathNotFoundException) {
                        print(e.dumpDetailed())
                    }
                }
            ("```text\n" + lines.single() + "```" in page) shouldBe true
        }

        test("should watch reports") {
            printed { fabric, println, manager ->
                val watching =
                    launch {
                        fabric.informs().collect { println(it.describe()) }
                    }
                delay(100)
                val notice =
                    Notice {
                        isGeneric = true
                        type = NoticeType.SUBNET_MANAGEMENT
                        trapNumberDeviceID = 64
                        issuerLID = Lid(2)
                    }
                manager.report(lid(1), notice)
                delay(100)
                watching.cancelAndJoin()
            }.map { it.substringBefore(": NoticeTrap64") } shouldContainExactly
                listOf("SUBNET_MANAGEMENT(3) GID_IN_SERVICE(64) from LID 2")
        }

        test("should answer pings") {
            printed { asked, println, asking ->
                serving(asked)
                println(asking.get<OpenIBPing>(lid(1)).hostName)
            } shouldContainExactly listOf("here")
        }
    })

private fun serving(fabric: Fabric) {
    fabric.serve(ManagementClass.OPENIB_PING) { request ->
        when (request.method) {
            Method.GET -> request.answer(OpenIBPing { hostName = "here" })
            else -> request.refuse(MADStatusInvalidField.METHOD_NOT_SUPPORTED)
        }
    }
}
