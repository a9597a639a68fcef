package org.kverbs.management.port

import org.kverbs.attributes.Gid
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.PortCapabilityMask
import org.kverbs.management.structures.PortPhysicalState
import org.kverbs.management.structures.PortState
import org.kverbs.structures.Guid
import org.kverbs.structures.Lid

/** IB_DEVICE_NODE_DESC_MAX of the kernel. */
private const val LONGEST_DESCRIPTION = 64

/**
 * A port of an RDMA device of this machine, as the kernel describes it in `/sys/class/infiniband`.
 *
 * Each property is read when it is asked for, so it is as it is now: LIDs, states and partition keys change. What the
 * driver does not tell is null. [endPort] finds a port by its name or address.
 *
 * @property device the name of the device: `mlx5_0`
 * @property number the number of the port, from 1
 */
public class EndPort internal constructor(
    public val device: String,
    public val number: Int,
) {
    private val deviceFolder get() = Sysfs.devices().folder(device)
    private val portFolder get() = deviceFolder.folder("ports").folder("$number")

    /** What the device is. */
    public val nodeType: NodeType? get() = deviceFolder.number("node_type")?.let { NodeType.of(it.toInt()) }

    /** The GUID of the device. */
    public val nodeGuid: Guid? get() = guid("node_guid")

    /** The GUID that all devices in one box have. */
    public val systemImageGuid: Guid? get() = guid("sys_image_guid")

    /** What an administrator calls the device, such as `host mlx5_0`. */
    public val nodeDescription: String? get() = deviceFolder.text("node_desc")

    /** The version of the device's firmware. */
    public val firmwareVersion: String? get() = deviceFolder.text("fw_ver")

    /** The version of the hardware. */
    public val hardwareVersion: String? get() = deviceFolder.text("hw_rev")

    /** The vendor's name of the board. */
    public val boardId: String? get() = deviceFolder.text("board_id")

    /** The vendor's name of the kind of device: `MT4129`. */
    public val deviceType: String? get() = deviceFolder.text("hca_type")

    /** How many ports the device has. */
    public val portCount: Int get() = deviceFolder.folder("ports").names().size

    /** The LID, or null where a subnet manager has not given one, and on RoCE. */
    public val lid: Lid? get() = lid("lid")

    /** How many low bits of the LID are the port's own: it has 2^[lmc] LIDs. */
    public val lmc: Int get() = portFolder.number("lid_mask_count")?.toInt() ?: 0

    /** Whether the port carries data. */
    public val state: PortState? get() = portFolder.number("state")?.let { PortState.of(it.toInt()) }

    /** Whether the link is there. */
    public val physicalState: PortPhysicalState?
        get() = portFolder.number("phys_state")?.let { PortPhysicalState.of(it.toInt()) }

    /** The LID of the subnet manager, or null if there is none. */
    public val subnetManagerLid: Lid? get() = lid("sm_lid")

    /** The service level of the way to the subnet manager. */
    public val subnetManagerServiceLevel: Int get() = portFolder.number("sm_sl")?.toInt() ?: 0

    /** What the port can do. */
    public val capabilityMask: PortCapabilityMask?
        get() = portFolder.number("cap_mask")?.let { PortCapabilityMask.of(it.toInt()) }

    /** The rate as the kernel prints it: `100 Gb/sec (4X EDR)`. */
    public val rate: String? get() = portFolder.text("rate")

    /** `InfiniBand` or `Ethernet`. */
    public val linkLayer: String? get() = portFolder.text("link_layer")

    /** The GIDs by their indexes, without those that are not in use. */
    public val gids: Map<Int, Gid> get() = table("gids") { text -> Gid.parse(text).takeIf { !it.isZero } }

    /** The partition keys by their indexes, 16 bits each, without those that are not in use. */
    public val partitionKeys: Map<Int, Int>
        get() = table("pkeys") { text -> text.removePrefix("0x").toIntOrNull(16)?.takeIf { it != 0 } }

    /** The first GID. */
    public val defaultGid: Gid? get() = gids[0]

    /** The GUID of the port: the low half of its first GID. */
    public val portGuid: Guid? get() = defaultGid?.let { Guid(it.interfaceId()) }

    /**
     * Sets [nodeDescription], which the kernel tells the subnet manager by a trap. Needs root.
     *
     * @param text up to 64 bytes of UTF-8
     * @throws IllegalArgumentException if it is longer
     * @throws java.io.IOException if the kernel does not take it
     */
    public fun describe(text: String) {
        val bytes = text.encodeToByteArray()
        require(bytes.size <= LONGEST_DESCRIPTION) {
            "the description has ${bytes.size} bytes; give at most $LONGEST_DESCRIPTION"
        }
        deviceFolder.write("node_desc", bytes)
    }

    /** Returns the index of a partition key, or null if the port is not in the partition. */
    public fun partitionKeyIndex(key: Int): Int? = partitionKeys.entries.firstOrNull { it.value == key }?.key

    internal val exists: Boolean get() = portFolder.exists

    private fun guid(file: String) = deviceFolder.text(file)?.let { runCatching { Guid.parse(it) }.getOrNull() }

    private fun lid(file: String) = portFolder.number(file)?.let { Lid(it.toInt()) }?.takeIf { it.isUnicast }

    private fun <T : Any> table(
        name: String,
        value: (String) -> T?,
    ): Map<Int, T> {
        val folder = portFolder.folder(name)
        return buildMap {
            for (index in folder.names().mapNotNull(String::toIntOrNull)) {
                // The kernel answers EINVAL for some entries that are not in use, as if they were not there.
                folder.text("$index")?.let(value)?.let { put(index, it) }
            }
        }
    }

    /** Two values for one port are equal. */
    override fun equals(other: Any?): Boolean = other is EndPort && other.device == device && other.number == number

    /** Fits [equals]. */
    override fun hashCode(): Int = 31 * device.hashCode() + number

    /** Returns `mlx5_0/1`, which [endPort] reads. */
    override fun toString(): String = "$device/$number"
}
