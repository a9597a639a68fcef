package org.kverbs.attributes;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.EnumSet;
import org.kverbs.internal.abi.IbvDeviceAttr;
import org.kverbs.internal.values.AlignedText;
import org.kverbs.internal.values.Guids;
import org.kverbs.internal.values.Structure;

/**
 * The identity and the limits of a device: {@code struct ibv_device_attr} (ibv_query_device(3)). The limits are upper
 * bounds; the device can have fewer resources free.
 *
 * @param firmwareVersion the version of the firmware, in the maker's form
 * @param nodeGuid the GUID of the device, a number in host order
 * @param systemImageGuid the GUID that all devices of one system share, a number in host order; 0 for none
 * @param maxMrSize the largest memory region, in bytes, unsigned
 * @param pageSizeCap the page sizes that the device can use: bit n for 2^n bytes
 * @param vendorId the maker, an IEEE OUI
 * @param vendorPartId the maker's number of the part, unsigned
 * @param hwVersion the version of the hardware, unsigned
 * @param maxQp how many queue pairs there may be
 * @param maxQpWr how many work requests one queue may hold
 * @param deviceCapFlags the abilities of the device as a mask of {@code enum ibv_device_cap_flags}; see {@link
 *     #capabilities()}
 * @param maxSge how many buffers a work request may have, except an RDMA read
 * @param maxSgeRd how many buffers an RDMA read may scatter to
 * @param maxCq how many completion queues there may be
 * @param maxCqe how many completions one completion queue may hold
 * @param maxMr how many memory regions there may be
 * @param maxPd how many protection domains there may be
 * @param maxQpRdAtom how many reads and atomics of its peer a queue pair can serve at once
 * @param maxEeRdAtom the limit of {@code maxQpRdAtom} for an end-to-end context; 0, since no device has such contexts
 * @param maxResRdAtom how many reads and atomics of peers the whole device can serve at once
 * @param maxQpInitRdAtom how many reads and atomics to its peer a queue pair can have in flight
 * @param maxEeInitRdAtom the limit of {@code maxQpInitRdAtom} for an end-to-end context; 0, since no device has such
 *     contexts
 * @param atomicCap the scope of atomic operations, an {@code enum ibv_atomic_cap}; see {@link #atomicCapability()}
 * @param maxEe how many end-to-end contexts there may be; 0, since no device has them
 * @param maxRdd how many reliable datagram domains there may be; 0, since no device has them
 * @param maxMw how many memory windows there may be
 * @param maxRawIpv6Qp how many raw IPv6 queue pairs there may be
 * @param maxRawEthyQp how many raw Ethertype queue pairs there may be
 * @param maxMcastGrp how many multicast groups there may be
 * @param maxMcastQpAttach how many queue pairs may be attached to one multicast group
 * @param maxTotalMcastQpAttach how many queue pairs may be attached to all multicast groups together; {@link
 *     #toString()} leaves it out
 * @param maxAh how many address handles there may be
 * @param maxFmr how many fast memory regions there may be; current kernels have none
 * @param maxMapPerFmr how often a fast memory region may be mapped before it must be unmapped
 * @param maxSrq how many shared receive queues there may be
 * @param maxSrqWr how many receives one shared receive queue may hold
 * @param maxSrqSge how many buffers a receive of a shared receive queue may have
 * @param maxPkeys how many partitions a port can be in
 * @param localCaAckDelay the code n of the longest time that the device takes to acknowledge, 4.096 us * 2^n
 * @param physPortCnt how many ports there are; 255 stands for more, see {@link DeviceAttributesEx#physPortCntEx()}
 */
public record DeviceAttributes(
        String firmwareVersion,
        long nodeGuid,
        long systemImageGuid,
        long maxMrSize,
        long pageSizeCap,
        int vendorId,
        int vendorPartId,
        int hwVersion,
        int maxQp,
        int maxQpWr,
        int deviceCapFlags,
        int maxSge,
        int maxSgeRd,
        int maxCq,
        int maxCqe,
        int maxMr,
        int maxPd,
        int maxQpRdAtom,
        int maxEeRdAtom,
        int maxResRdAtom,
        int maxQpInitRdAtom,
        int maxEeInitRdAtom,
        int atomicCap,
        int maxEe,
        int maxRdd,
        int maxMw,
        int maxRawIpv6Qp,
        int maxRawEthyQp,
        int maxMcastGrp,
        int maxMcastQpAttach,
        int maxTotalMcastQpAttach,
        int maxAh,
        int maxFmr,
        int maxMapPerFmr,
        int maxSrq,
        int maxSrqWr,
        int maxSrqSge,
        int maxPkeys,
        int localCaAckDelay,
        int physPortCnt) {

    static {
        Structure.offer(DeviceAttributes.class, DeviceAttributes::from);
    }

    private static final ValueLayout.OfLong NETWORK_LONG = JAVA_LONG.withOrder(ByteOrder.BIG_ENDIAN);

    /**
     * Reads the C structure at the start of {@code segment}, which is 8-byte aligned memory in the machine's byte
     * order.
     */
    static DeviceAttributes from(MemorySegment segment) {
        return new DeviceAttributes(
                text(segment, IbvDeviceAttr.FW_VER, IbvDeviceAttr.NODE_GUID - IbvDeviceAttr.FW_VER),
                segment.get(NETWORK_LONG, IbvDeviceAttr.NODE_GUID),
                segment.get(NETWORK_LONG, IbvDeviceAttr.SYS_IMAGE_GUID),
                segment.get(JAVA_LONG, IbvDeviceAttr.MAX_MR_SIZE),
                segment.get(JAVA_LONG, IbvDeviceAttr.PAGE_SIZE_CAP),
                segment.get(JAVA_INT, IbvDeviceAttr.VENDOR_ID),
                segment.get(JAVA_INT, IbvDeviceAttr.VENDOR_PART_ID),
                segment.get(JAVA_INT, IbvDeviceAttr.HW_VER),
                segment.get(JAVA_INT, IbvDeviceAttr.MAX_QP),
                segment.get(JAVA_INT, IbvDeviceAttr.MAX_QP_WR),
                segment.get(JAVA_INT, IbvDeviceAttr.DEVICE_CAP_FLAGS),
                segment.get(JAVA_INT, IbvDeviceAttr.MAX_SGE),
                segment.get(JAVA_INT, IbvDeviceAttr.MAX_SGE_RD),
                segment.get(JAVA_INT, IbvDeviceAttr.MAX_CQ),
                segment.get(JAVA_INT, IbvDeviceAttr.MAX_CQE),
                segment.get(JAVA_INT, IbvDeviceAttr.MAX_MR),
                segment.get(JAVA_INT, IbvDeviceAttr.MAX_PD),
                segment.get(JAVA_INT, IbvDeviceAttr.MAX_QP_RD_ATOM),
                segment.get(JAVA_INT, IbvDeviceAttr.MAX_EE_RD_ATOM),
                segment.get(JAVA_INT, IbvDeviceAttr.MAX_RES_RD_ATOM),
                segment.get(JAVA_INT, IbvDeviceAttr.MAX_QP_INIT_RD_ATOM),
                segment.get(JAVA_INT, IbvDeviceAttr.MAX_EE_INIT_RD_ATOM),
                segment.get(JAVA_INT, IbvDeviceAttr.ATOMIC_CAP),
                segment.get(JAVA_INT, IbvDeviceAttr.MAX_EE),
                segment.get(JAVA_INT, IbvDeviceAttr.MAX_RDD),
                segment.get(JAVA_INT, IbvDeviceAttr.MAX_MW),
                segment.get(JAVA_INT, IbvDeviceAttr.MAX_RAW_IPV6_QP),
                segment.get(JAVA_INT, IbvDeviceAttr.MAX_RAW_ETHY_QP),
                segment.get(JAVA_INT, IbvDeviceAttr.MAX_MCAST_GRP),
                segment.get(JAVA_INT, IbvDeviceAttr.MAX_MCAST_QP_ATTACH),
                segment.get(JAVA_INT, IbvDeviceAttr.MAX_TOTAL_MCAST_QP_ATTACH),
                segment.get(JAVA_INT, IbvDeviceAttr.MAX_AH),
                segment.get(JAVA_INT, IbvDeviceAttr.MAX_FMR),
                segment.get(JAVA_INT, IbvDeviceAttr.MAX_MAP_PER_FMR),
                segment.get(JAVA_INT, IbvDeviceAttr.MAX_SRQ),
                segment.get(JAVA_INT, IbvDeviceAttr.MAX_SRQ_WR),
                segment.get(JAVA_INT, IbvDeviceAttr.MAX_SRQ_SGE),
                Short.toUnsignedInt(segment.get(JAVA_SHORT, IbvDeviceAttr.MAX_PKEYS)),
                Byte.toUnsignedInt(segment.get(JAVA_BYTE, IbvDeviceAttr.LOCAL_CA_ACK_DELAY)),
                Byte.toUnsignedInt(segment.get(JAVA_BYTE, IbvDeviceAttr.PHYS_PORT_CNT)));
    }

    /** Returns the text at {@code offset} up to the first NUL, or all {@code length} bytes if there is none. */
    private static String text(MemorySegment segment, long offset, int length) {
        byte[] bytes = segment.asSlice(offset, length).toArray(JAVA_BYTE);
        int end = 0;
        while (end < length && bytes[end] != 0) {
            end++;
        }
        return new String(bytes, 0, end, StandardCharsets.UTF_8);
    }

    /**
     * Returns a new set of the abilities of the device. {@link #deviceCapFlags()} also holds bits that have no name.
     */
    public EnumSet<DeviceCapability> capabilities() {
        return DeviceCapability.of(Integer.toUnsignedLong(deviceCapFlags));
    }

    /** Returns the scope of atomic operations, or UNKNOWN if {@link #atomicCap()} has no name. */
    public AtomicCapability atomicCapability() {
        return AtomicCapability.of(atomicCap);
    }

    /** Returns {@link #nodeGuid()} as text: four groups of four hexadecimal digits. */
    public String nodeGuidText() {
        return Guids.format(nodeGuid);
    }

    /** Returns {@link #systemImageGuid()} as text: four groups of four hexadecimal digits. */
    public String systemImageGuidText() {
        return Guids.format(systemImageGuid);
    }

    /** Returns one {@code Name : value} line for each attribute, aligned, in the order and wording of Pyverbs. */
    @Override
    public String toString() {
        return toString(22);
    }

    /** Returns the lines of {@link #toString()} with names of {@code width} characters. */
    String toString(int width) {
        return new AlignedText(width)
                .line("FW version", firmwareVersion)
                .line("Node guid", nodeGuidText())
                .line("Sys image GUID", systemImageGuidText())
                .hex("Max MR size", maxMrSize)
                .hex("Page size cap", pageSizeCap)
                .hex("Vendor ID", Integer.toUnsignedLong(vendorId))
                .line("Vendor part ID", Integer.toUnsignedString(vendorPartId))
                .line("HW version", Integer.toUnsignedString(hwVersion))
                .line("Max QP", maxQp)
                .line("Max QP WR", maxQpWr)
                .line("Device cap flags", Integer.toUnsignedString(deviceCapFlags))
                .line("Max SGE", maxSge)
                .line("Max SGE RD", maxSgeRd)
                .line("MAX CQ", maxCq)
                .line("Max CQE", maxCqe)
                .line("Max MR", maxMr)
                .line("Max PD", maxPd)
                .line("Max QP RD atom", maxQpRdAtom)
                .line("Max EE RD atom", maxEeRdAtom)
                .line("Max res RD atom", maxResRdAtom)
                .line("Max QP init RD atom", maxQpInitRdAtom)
                .line("Max EE init RD atom", maxEeInitRdAtom)
                .line("Atomic caps", atomicCap)
                .line("Max EE", maxEe)
                .line("Max RDD", maxRdd)
                .line("Max MW", maxMw)
                .line("Max raw IPv6 QPs", maxRawIpv6Qp)
                .line("Max raw ethy QP", maxRawEthyQp)
                .line("Max mcast group", maxMcastGrp)
                .line("Max mcast QP attach", maxMcastQpAttach)
                .line("Max AH", maxAh)
                .line("Max FMR", maxFmr)
                .line("Max map per FMR", maxMapPerFmr)
                .line("Max SRQ", maxSrq)
                .line("Max SRQ WR", maxSrqWr)
                .line("Max SRQ SGE", maxSrqSge)
                .line("Max PKeys", maxPkeys)
                .line("local CA ack delay", localCaAckDelay)
                .line("Phys port count", physPortCnt)
                .toString();
    }
}
