// Lists the RDMA devices with the address that each sends from: ./kverbs script samples/scripts/devices.main.kts

for (device in Device.list()) {
    device.open().use { open ->
        val gid = open.queryGid(1, open.defaultGidIndex(1))
        println("${device.name()} (${device.provider()}): ${open.queryPort(1).state()}, ${gid.toCompactString()}")
    }
}
