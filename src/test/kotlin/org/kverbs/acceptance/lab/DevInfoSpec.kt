package org.kverbs.acceptance.lab

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldHaveAtLeastSize
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.Device
import org.kverbs.acceptance.contract.bytes
import org.kverbs.cli.kverbs

/** Compares our devinfo and its values with rdma-core's own tools, on every device. */
internal class DevInfoSpec :
    FunSpec({
        test("should show every field that ibv_devinfo -v shows, in its order and with its values") {
            val theirs = fields(said("ibv_devinfo", "-v"))
            theirs shouldHaveAtLeastSize 100
            fields(ours("devinfo", "-v")) shouldBe theirs
        }

        test("should show the fields of ibv_devinfo without -v") {
            fields(ours("devinfo")) shouldBe fields(said("ibv_devinfo"))
        }

        for (name in listOf("rxe0", "siw0")) {
            test("should query the attributes of $name that ibv_devinfo shows") {
                val theirs =
                    fields(said("ibv_devinfo", "-v", "-d", name)).associate {
                        it.substringBefore(':') to
                            it.substringAfter(':').trim()
                    }
                Device.byName(name).open().use { context ->
                    val device = context.queryDevice()
                    val port = context.queryPort(1)
                    mapOf(
                        "node_guid" to "%016x".format(context.device().guid()).chunked(4).joinToString(":"),
                        "max_qp" to device.maxQp(),
                        "max_qp_wr" to device.maxQpWr(),
                        "max_sge" to device.maxSge(),
                        "max_cq" to device.maxCq(),
                        "max_cqe" to device.maxCqe(),
                        "max_mr" to device.maxMr(),
                        "max_pd" to device.maxPd(),
                        "max_qp_rd_atom" to device.maxQpRdAtom(),
                        "max_srq" to device.maxSrq(),
                        "phys_port_cnt" to device.physPortCnt(),
                        "num_comp_vectors" to context.completionVectors(),
                        "active_mtu" to "${port.activeMtu().bytes()} (${port.activeMtu().code()})",
                        "port_lid" to port.lid(),
                        "gid_tbl_len" to port.gidTableLength(),
                        "pkey_tbl_len" to port.pkeyTableLength(),
                        "max_msg_sz" to "0x" + Integer.toHexString(port.maxMessageSize().toInt()),
                    ).forEach { (field, value) -> "$field=$value" shouldBe "$field=${theirs[field]}" }
                    // The C tool shows the GIDs of InfiniBand and RoCE only.
                    val gids = context.queryGidTable().filter { name == "rxe0" }
                    gids.forEach { theirs.getValue("GID[ ${it.index()}]") shouldContain it.gid().toCompactString() }
                    theirs.keys.count { it.startsWith("GID[") } shouldBe gids.size
                }
            }
        }

        test("should list the devices and GUIDs that ibv_devices lists") {
            val theirs =
                said(
                    "ibv_devices",
                ).lines().drop(2).filter { it.isNotBlank() }.map { it.trim().split(Regex("\\s+")) }
            theirs shouldHaveAtLeastSize 2
            Device.list().map { listOf(it.name(), "%016x".format(it.guid())) } shouldBe theirs
            val table = ours("devices")
            theirs.forEach { (name, guid) ->
                table.lines().single { it.contains(name) } shouldContain
                    guid.chunked(4).joinToString(":")
            }
        }
    })

private fun ours(vararg arguments: String): String {
    val out = StringBuilder()
    kverbs(arguments.asList(), out, out) shouldBe 0
    return out.toString()
}

/** The lines with text, in order, with each run of spaces and tabs as one space. */
private fun fields(text: String): List<String> =
    text.lines().map { it.trim().replace(Regex("\\s+"), " ") }.filter { it.isNotEmpty() }
