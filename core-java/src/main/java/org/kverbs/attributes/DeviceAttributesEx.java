package org.kverbs.attributes;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import org.kverbs.internal.abi.IbvDeviceAttrEx;
import org.kverbs.internal.abi.IbvOdpGeneralCaps;
import org.kverbs.internal.values.AlignedText;
import org.kverbs.internal.values.Structure;

/**
 * The extended attributes of a device: {@code struct ibv_device_attr_ex} (ibv_query_device_ex(3)). A device without the
 * extended call has zeros here. In a mask of queue pair types, bit n stands for the type with {@link
 * QueuePairType#code() code} n.
 *
 * @param original the basic attributes
 * @param compMask {@code comp_mask}, which libraries leave 0
 * @param onDemandPaging the operations that work on memory that is not pinned
 * @param completionTimestampMask the valid bits of a completion timestamp; 0 if there are no timestamps
 * @param hcaCoreClock the frequency of the clock behind the timestamps, in kHz; 0 if there is none
 * @param deviceCapFlagsEx the abilities of the device as a mask of 64 bits; see {@link #capabilities()}
 * @param segmentation the limits of TCP segmentation offload
 * @param receiveSideScaling the limits for spreading received packets over work queues
 * @param maxWqTypeRq how many receive work queues there may be
 * @param packetPacing the limits for the sending rate of a queue pair
 * @param rawPacketCaps the abilities of raw packet queue pairs, a mask of {@code enum ibv_raw_packet_caps}
 * @param tagMatching the limits of tag matching in shared receive queues
 * @param cqModeration the limits for delaying completion events
 * @param maxDmSize the size of the device memory, in bytes
 * @param pciAtomics the atomic operations of the device on the bus
 * @param physPortCntEx how many ports there are, also above 255; 0 if the device gives only {@link
 *     DeviceAttributes#physPortCnt()}
 */
public record DeviceAttributesEx(
        DeviceAttributes original,
        int compMask,
        OnDemandPaging onDemandPaging,
        long completionTimestampMask,
        long hcaCoreClock,
        long deviceCapFlagsEx,
        Segmentation segmentation,
        ReceiveSideScaling receiveSideScaling,
        int maxWqTypeRq,
        PacketPacing packetPacing,
        int rawPacketCaps,
        TagMatching tagMatching,
        CqModeration cqModeration,
        long maxDmSize,
        PciAtomics pciAtomics,
        int physPortCntEx) {

    static {
        Structure.offer(DeviceAttributesEx.class, DeviceAttributesEx::from);
    }

    /**
     * The operations that can fault pages in, by transport: {@code struct ibv_odp_caps} and {@code xrc_odp_caps}.
     *
     * @param general a mask of {@code enum ibv_odp_general_caps}
     * @param rc the operations on RC: a mask of {@code enum ibv_odp_transport_cap_bits}, as are the next three
     * @param uc the operations on UC
     * @param ud the operations on UD
     * @param xrc the operations on XRC
     */
    public record OnDemandPaging(long general, int rc, int uc, int ud, int xrc) {

        /** Returns whether regions can be registered with {@link AccessFlag#ON_DEMAND} ({@code IBV_ODP_SUPPORT}). */
        public boolean isSupported() {
            return (general & IbvOdpGeneralCaps.IBV_ODP_SUPPORT) != 0;
        }

        /** Returns whether a region can be the whole address space ({@code IBV_ODP_SUPPORT_IMPLICIT}). */
        public boolean isImplicitSupported() {
            return isSupported() && (general & IbvOdpGeneralCaps.IBV_ODP_SUPPORT_IMPLICIT) != 0;
        }
    }

    /**
     * The limits of TCP segmentation offload: {@code struct ibv_tso_caps}.
     *
     * @param maxTso the largest payload that is cut into packets, in bytes
     * @param queuePairTypes the queue pair types that support it, a mask
     */
    public record Segmentation(int maxTso, int queuePairTypes) {}

    /**
     * The limits of receive side scaling: {@code struct ibv_rss_caps}.
     *
     * @param queuePairTypes the queue pair types that support it, a mask
     * @param maxTables how many indirection tables there may be
     * @param maxTableSize how many entries a table may have
     * @param hashFields the packet fields that can be hashed: a mask of {@code enum ibv_rx_hash_fields}
     * @param hashFunctions the hash functions: a mask of {@code enum ibv_rx_hash_function_flags}
     */
    public record ReceiveSideScaling(int queuePairTypes, int maxTables, int maxTableSize, long hashFields,
            int hashFunctions) {}

    /**
     * The limits of packet pacing: {@code struct ibv_packet_pacing_caps}.
     *
     * @param minKbps the lowest rate, in kilobits a second, unsigned
     * @param maxKbps the highest rate, in kilobits a second, unsigned
     * @param queuePairTypes the queue pair types that support it, a mask
     */
    public record PacketPacing(int minKbps, int maxKbps, int queuePairTypes) {}

    /**
     * The limits of tag matching: {@code struct ibv_tm_caps}.
     *
     * @param maxRendezvousHeader the longest rendezvous header, in bytes
     * @param maxTags how many tagged buffers a matching list may hold
     * @param flags a mask of {@code enum ibv_tm_cap_flags}
     * @param maxOps how many operations on a list may be outstanding
     * @param maxSge how many buffers a tagged receive may have
     */
    public record TagMatching(int maxRendezvousHeader, int maxTags, int flags, int maxOps, int maxSge) {}

    /**
     * The limits of completion queue moderation: {@code struct ibv_cq_moderation_caps}.
     *
     * @param maxCount how many completions an event may wait for
     * @param maxPeriod how long an event may wait, in microseconds
     */
    public record CqModeration(int maxCount, int maxPeriod) {}

    /**
     * The operand sizes of atomic operations on the bus: {@code struct ibv_pci_atomic_caps}. Each is a mask of {@code
     * enum ibv_pci_atomic_op_size}.
     *
     * @param fetchAdd the sizes of fetch and add
     * @param swap the sizes of unconditional swap
     * @param compareSwap the sizes of compare and swap
     */
    public record PciAtomics(int fetchAdd, int swap, int compareSwap) {}

    /**
     * Reads the C structure at the start of {@code segment}, which is 8-byte aligned memory in the machine's byte
     * order.
     */
    static DeviceAttributesEx from(MemorySegment segment) {
        return new DeviceAttributesEx(
                DeviceAttributes.from(segment.asSlice(IbvDeviceAttrEx.ORIG_ATTR)),
                segment.get(JAVA_INT, IbvDeviceAttrEx.COMP_MASK),
                new OnDemandPaging(
                        segment.get(JAVA_LONG, IbvDeviceAttrEx.ODP_CAPS_GENERAL_CAPS),
                        segment.get(JAVA_INT, IbvDeviceAttrEx.ODP_CAPS_PER_TRANSPORT_CAPS_RC_ODP_CAPS),
                        segment.get(JAVA_INT, IbvDeviceAttrEx.ODP_CAPS_PER_TRANSPORT_CAPS_UC_ODP_CAPS),
                        segment.get(JAVA_INT, IbvDeviceAttrEx.ODP_CAPS_PER_TRANSPORT_CAPS_UD_ODP_CAPS),
                        segment.get(JAVA_INT, IbvDeviceAttrEx.XRC_ODP_CAPS)),
                segment.get(JAVA_LONG, IbvDeviceAttrEx.COMPLETION_TIMESTAMP_MASK),
                segment.get(JAVA_LONG, IbvDeviceAttrEx.HCA_CORE_CLOCK),
                segment.get(JAVA_LONG, IbvDeviceAttrEx.DEVICE_CAP_FLAGS_EX),
                new Segmentation(
                        segment.get(JAVA_INT, IbvDeviceAttrEx.TSO_CAPS_MAX_TSO),
                        segment.get(JAVA_INT, IbvDeviceAttrEx.TSO_CAPS_SUPPORTED_QPTS)),
                new ReceiveSideScaling(
                        segment.get(JAVA_INT, IbvDeviceAttrEx.RSS_CAPS_SUPPORTED_QPTS),
                        segment.get(JAVA_INT, IbvDeviceAttrEx.RSS_CAPS_MAX_RWQ_INDIRECTION_TABLES),
                        segment.get(JAVA_INT, IbvDeviceAttrEx.RSS_CAPS_MAX_RWQ_INDIRECTION_TABLE_SIZE),
                        segment.get(JAVA_LONG, IbvDeviceAttrEx.RSS_CAPS_RX_HASH_FIELDS_MASK),
                        Byte.toUnsignedInt(segment.get(JAVA_BYTE, IbvDeviceAttrEx.RSS_CAPS_RX_HASH_FUNCTION))),
                segment.get(JAVA_INT, IbvDeviceAttrEx.MAX_WQ_TYPE_RQ),
                new PacketPacing(
                        segment.get(JAVA_INT, IbvDeviceAttrEx.PACKET_PACING_CAPS_QP_RATE_LIMIT_MIN),
                        segment.get(JAVA_INT, IbvDeviceAttrEx.PACKET_PACING_CAPS_QP_RATE_LIMIT_MAX),
                        segment.get(JAVA_INT, IbvDeviceAttrEx.PACKET_PACING_CAPS_SUPPORTED_QPTS)),
                segment.get(JAVA_INT, IbvDeviceAttrEx.RAW_PACKET_CAPS),
                new TagMatching(
                        segment.get(JAVA_INT, IbvDeviceAttrEx.TM_CAPS_MAX_RNDV_HDR_SIZE),
                        segment.get(JAVA_INT, IbvDeviceAttrEx.TM_CAPS_MAX_NUM_TAGS),
                        segment.get(JAVA_INT, IbvDeviceAttrEx.TM_CAPS_FLAGS),
                        segment.get(JAVA_INT, IbvDeviceAttrEx.TM_CAPS_MAX_OPS),
                        segment.get(JAVA_INT, IbvDeviceAttrEx.TM_CAPS_MAX_SGE)),
                new CqModeration(
                        u16(segment, IbvDeviceAttrEx.CQ_MOD_CAPS_MAX_CQ_COUNT),
                        u16(segment, IbvDeviceAttrEx.CQ_MOD_CAPS_MAX_CQ_PERIOD)),
                segment.get(JAVA_LONG, IbvDeviceAttrEx.MAX_DM_SIZE),
                new PciAtomics(
                        u16(segment, IbvDeviceAttrEx.PCI_ATOMIC_CAPS_FETCH_ADD),
                        u16(segment, IbvDeviceAttrEx.PCI_ATOMIC_CAPS_SWAP),
                        u16(segment, IbvDeviceAttrEx.PCI_ATOMIC_CAPS_COMPARE_SWAP)),
                segment.get(JAVA_INT, IbvDeviceAttrEx.PHYS_PORT_CNT_EX));
    }

    private static int u16(MemorySegment segment, int offset) {
        return Short.toUnsignedInt(segment.get(JAVA_SHORT, offset));
    }

    /** Returns a new set of the abilities of the device from both masks. The masks also hold bits that have no name. */
    public EnumSet<DeviceCapability> capabilities() {
        EnumSet<DeviceCapability> all = original.capabilities();
        all.addAll(DeviceCapability.of(deviceCapFlagsEx));
        return all;
    }

    /**
     * Returns the lines of {@link DeviceAttributes#toString()} and then one aligned line for each further attribute.
     */
    @Override
    public String toString() {
        return new AlignedText(34)
                .lines(original.toString(34))
                .hex("ODP general caps", onDemandPaging.general)
                .hex("ODP RC caps", Integer.toUnsignedLong(onDemandPaging.rc))
                .hex("ODP UC caps", Integer.toUnsignedLong(onDemandPaging.uc))
                .hex("ODP UD caps", Integer.toUnsignedLong(onDemandPaging.ud))
                .hex("ODP XRC caps", Integer.toUnsignedLong(onDemandPaging.xrc))
                .hex("Completion timestamp mask", completionTimestampMask)
                .line("HCA core clock (kHz)", Long.toUnsignedString(hcaCoreClock))
                .hex("Device cap flags ex", deviceCapFlagsEx)
                .line("TSO max payload", Integer.toUnsignedString(segmentation.maxTso))
                .hex("TSO QP types", Integer.toUnsignedLong(segmentation.queuePairTypes))
                .hex("RSS QP types", Integer.toUnsignedLong(receiveSideScaling.queuePairTypes))
                .line("RSS max indirection tables", Integer.toUnsignedString(receiveSideScaling.maxTables))
                .line("RSS max indirection table size", Integer.toUnsignedString(receiveSideScaling.maxTableSize))
                .hex("RSS hash fields", receiveSideScaling.hashFields)
                .hex("RSS hash functions", receiveSideScaling.hashFunctions)
                .line("Max WQ type RQ", Integer.toUnsignedString(maxWqTypeRq))
                .line("Packet pacing min rate (kbps)", Integer.toUnsignedString(packetPacing.minKbps))
                .line("Packet pacing max rate (kbps)", Integer.toUnsignedString(packetPacing.maxKbps))
                .hex("Packet pacing QP types", Integer.toUnsignedLong(packetPacing.queuePairTypes))
                .hex("Raw packet caps", Integer.toUnsignedLong(rawPacketCaps))
                .line("Tag matching max rendezvous header", Integer.toUnsignedString(tagMatching.maxRendezvousHeader))
                .line("Tag matching max tags", Integer.toUnsignedString(tagMatching.maxTags))
                .hex("Tag matching flags", Integer.toUnsignedLong(tagMatching.flags))
                .line("Tag matching max ops", Integer.toUnsignedString(tagMatching.maxOps))
                .line("Tag matching max SGE", Integer.toUnsignedString(tagMatching.maxSge))
                .line("CQ moderation max count", cqModeration.maxCount)
                .line("CQ moderation max period (us)", cqModeration.maxPeriod)
                .line("Max DM size", Long.toUnsignedString(maxDmSize))
                .hex("PCI atomic fetch add sizes", pciAtomics.fetchAdd)
                .hex("PCI atomic swap sizes", pciAtomics.swap)
                .hex("PCI atomic compare swap sizes", pciAtomics.compareSwap)
                .line("Phys port count ex", Integer.toUnsignedString(physPortCntEx))
                .toString();
    }
}
