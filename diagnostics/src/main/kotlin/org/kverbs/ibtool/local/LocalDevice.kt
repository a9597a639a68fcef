package org.kverbs.ibtool.local

import org.kverbs.ibtool.session.IbsimPreload
import org.kverbs.ibtool.session.Session
import org.kverbs.management.port.EndPort
import org.kverbs.management.port.endPorts

/** An adapter of this machine, or the node of a simulated fabric that a command runs at. */
internal class LocalDevice(
    val name: String,
    val nodeType: Int,
    val type: String,
    val portCount: Int,
    val firmware: String,
    val hardware: String,
    val guid: Long,
    val systemImageGuid: Long,
    val ports: List<LocalPort>,
) {
    companion object {
        /** The adapters of this machine, or the one of a simulated fabric. */
        fun all(session: Session): List<LocalDevice> {
            if (session.simulation != null) return listOf(simulated(session))
            IbsimPreload.prepare()
            return endPorts().groupBy { it.device }.map { (_, ports) -> of(ports) }
        }

        private fun of(ports: List<EndPort>): LocalDevice {
            val device = ports.first()
            return LocalDevice(
                device.device,
                device.nodeType?.value ?: 0,
                device.deviceType.orEmpty(),
                device.portCount,
                device.firmwareVersion.orEmpty(),
                device.hardwareVersion.orEmpty(),
                device.nodeGuid?.value ?: 0,
                device.systemImageGuid?.value ?: 0,
                ports.map(LocalPort::of),
            )
        }

        private fun simulated(session: Session): LocalDevice {
            val port = session.fabric.port()
            return LocalDevice(
                port.name,
                port.node.nodeType.value,
                "simulated",
                port.node.numPorts,
                "",
                "",
                port.node.nodeGUID.value,
                port.node.systemImageGUID.value,
                listOf(LocalPort.of(port)),
            )
        }
    }
}
