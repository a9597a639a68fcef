package org.kverbs.embedded.internal.verbs;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import org.kverbs.embedded.DeviceLimits;
import org.kverbs.embedded.Semantics;
import org.kverbs.embedded.internal.objects.Limits;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.internal.PlacementExtensions;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvAtomicCap;
import org.kverbs.internal.abi.IbvDevice64CapFlags;
import org.kverbs.internal.abi.IbvDeviceAttr;
import org.kverbs.internal.abi.IbvDeviceAttrEx;
import org.kverbs.internal.abi.IbvDeviceCapFlags;
import org.kverbs.internal.abi.IbvGidEntry;
import org.kverbs.internal.abi.IbvGidType;
import org.kverbs.internal.abi.IbvLinkLayer;
import org.kverbs.internal.abi.IbvOdpGeneralCaps;
import org.kverbs.internal.abi.IbvOdpTransportCapBits;
import org.kverbs.internal.abi.IbvPortAttr;
import org.kverbs.internal.abi.IbvPortCapFlags;
import org.kverbs.internal.abi.IbvPortState;
import org.kverbs.internal.abi.IbvQpType;
import org.kverbs.internal.abi.IbvRawPacketCaps;
import org.kverbs.internal.abi.IbvRxHashFunctionFlags;
import org.kverbs.internal.abi.IbvTmCapFlags;

/** Writes a device's attributes as C structures. */
final class Queries {

    /** The length of the GID table; the device's addresses fill its first entries. */
    static final int GID_TABLE = 16;

    static final ValueLayout.OfLong BIG_LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    private static final int CAN = IbvDeviceCapFlags.IBV_DEVICE_RESIZE_MAX_WR
            | IbvDeviceCapFlags.IBV_DEVICE_CURR_QP_STATE_MOD
            | IbvDeviceCapFlags.IBV_DEVICE_PORT_ACTIVE_EVENT
            | IbvDeviceCapFlags.IBV_DEVICE_SYS_IMAGE_GUID
            | IbvDeviceCapFlags.IBV_DEVICE_RC_RNR_NAK_GEN
            | IbvDeviceCapFlags.IBV_DEVICE_SRQ_RESIZE
            | IbvDeviceCapFlags.IBV_DEVICE_XRC
            | IbvDeviceCapFlags.IBV_DEVICE_MEM_WINDOW
            | IbvDeviceCapFlags.IBV_DEVICE_MEM_WINDOW_TYPE_2B;
    /** On-demand paging: what there is, and for which operations of each type of queue pair. */
    private static final int PAGING = IbvOdpGeneralCaps.IBV_ODP_SUPPORT | IbvOdpGeneralCaps.IBV_ODP_SUPPORT_IMPLICIT;

    private static final int PAGED_UD = IbvOdpTransportCapBits.IBV_ODP_SUPPORT_SEND
            | IbvOdpTransportCapBits.IBV_ODP_SUPPORT_RECV
            | IbvOdpTransportCapBits.IBV_ODP_SUPPORT_SRQ_RECV;
    private static final int PAGED_UC = PAGED_UD | IbvOdpTransportCapBits.IBV_ODP_SUPPORT_WRITE;
    private static final int PAGED_RC = PAGED_UC
            | IbvOdpTransportCapBits.IBV_ODP_SUPPORT_READ
            | IbvOdpTransportCapBits.IBV_ODP_SUPPORT_ATOMIC;

    /** The abilities that only {@code device_cap_flags_ex} has room for. */
    private static final long CAN_EX =
            PlacementExtensions.DEVICE_FLUSH_GLOBAL | PlacementExtensions.DEVICE_ATOMIC_WRITE;
    /** The port's physical states LinkUp and Disabled (IBA volume 1, 14.2.5.6), for which verbs.h has no names. */
    private static final int LINK_UP = 5;

    private static final int DISABLED = 3;

    private final Hca hca;

    Queries(Hca hca) {
        this.hca = hca;
    }

    int device(MemorySegment to) {
        DeviceLimits limits = hca.limits;
        to.asSlice(0, IbvDeviceAttr.SIZE).fill((byte) 0);
        byte[] version = "kverbs".getBytes(StandardCharsets.US_ASCII);
        MemorySegment.copy(version, 0, to, ValueLayout.JAVA_BYTE, IbvDeviceAttr.FW_VER, version.length);
        putBig(to, IbvDeviceAttr.NODE_GUID, hca.guid);
        putBig(to, IbvDeviceAttr.SYS_IMAGE_GUID, hca.guid);
        putLong(to, IbvDeviceAttr.MAX_MR_SIZE, Long.MAX_VALUE);
        putLong(to, IbvDeviceAttr.PAGE_SIZE_CAP, 0xfffff000L);
        putInt(to, IbvDeviceAttr.MAX_QP, limits.queuePairs());
        putInt(to, IbvDeviceAttr.MAX_QP_WR, limits.workRequests());
        putInt(to, IbvDeviceAttr.DEVICE_CAP_FLAGS, capabilities());
        putInt(to, IbvDeviceAttr.MAX_SGE, limits.entries());
        putInt(to, IbvDeviceAttr.MAX_SGE_RD, limits.entries());
        putInt(to, IbvDeviceAttr.MAX_CQ, limits.completionQueues());
        putInt(to, IbvDeviceAttr.MAX_CQE, limits.completions());
        putInt(to, IbvDeviceAttr.MAX_MR, limits.memoryRegions());
        putInt(to, IbvDeviceAttr.MAX_PD, limits.protectionDomains());
        putInt(to, IbvDeviceAttr.MAX_QP_RD_ATOM, limits.reads());
        putInt(to, IbvDeviceAttr.MAX_RES_RD_ATOM, limits.reads() * limits.queuePairs());
        putInt(to, IbvDeviceAttr.MAX_QP_INIT_RD_ATOM, limits.reads());
        putInt(to, IbvDeviceAttr.ATOMIC_CAP, IbvAtomicCap.IBV_ATOMIC_GLOB);
        putInt(to, IbvDeviceAttr.MAX_MW, limits.memoryRegions());
        putInt(to, IbvDeviceAttr.MAX_RAW_ETHY_QP, hca.link.carriesFrames() ? limits.queuePairs() : 0);
        putInt(to, IbvDeviceAttr.MAX_MCAST_GRP, Limits.GROUPS);
        putInt(to, IbvDeviceAttr.MAX_MCAST_QP_ATTACH, Limits.GROUPS);
        putInt(to, IbvDeviceAttr.MAX_TOTAL_MCAST_QP_ATTACH, Limits.GROUPS);
        putInt(to, IbvDeviceAttr.MAX_AH, limits.memoryRegions());
        putInt(to, IbvDeviceAttr.MAX_SRQ, limits.sharedReceiveQueues());
        putInt(to, IbvDeviceAttr.MAX_SRQ_WR, limits.sharedReceives());
        putInt(to, IbvDeviceAttr.MAX_SRQ_SGE, limits.entries());
        putShort(to, IbvDeviceAttr.MAX_PKEYS, 1);
        putByte(to, IbvDeviceAttr.LOCAL_CA_ACK_DELAY, 15);
        putByte(to, IbvDeviceAttr.PHYS_PORT_CNT, Limits.PORT);
        return 0;
    }

    int deviceEx(MemorySegment to) {
        to.fill((byte) 0);
        if (to.byteSize() > IbvDeviceAttrEx.PHYS_PORT_CNT_EX) {
            putInt(to, IbvDeviceAttrEx.PHYS_PORT_CNT_EX, Limits.PORT);
        }
        if (to.byteSize() > IbvDeviceAttrEx.CQ_MOD_CAPS_MAX_CQ_PERIOD) {
            putShort(to, IbvDeviceAttrEx.CQ_MOD_CAPS_MAX_CQ_COUNT, Limits.MODERATION);
            putShort(to, IbvDeviceAttrEx.CQ_MOD_CAPS_MAX_CQ_PERIOD, Limits.MODERATION);
        }
        if (to.byteSize() > IbvDeviceAttrEx.HCA_CORE_CLOCK) {
            putLong(to, IbvDeviceAttrEx.COMPLETION_TIMESTAMP_MASK, Limits.TIMESTAMP_MASK);
            putLong(to, IbvDeviceAttrEx.HCA_CORE_CLOCK, Limits.CLOCK_KHZ);
        }
        if (to.byteSize() > IbvDeviceAttrEx.PACKET_PACING_CAPS_SUPPORTED_QPTS) {
            putInt(to, IbvDeviceAttrEx.PACKET_PACING_CAPS_QP_RATE_LIMIT_MIN, 1);
            putInt(to, IbvDeviceAttrEx.PACKET_PACING_CAPS_QP_RATE_LIMIT_MAX, Limits.MOST_KBPS);
            putInt(to, IbvDeviceAttrEx.PACKET_PACING_CAPS_SUPPORTED_QPTS, 1 << IbvQpType.IBV_QPT_RC
                    | 1 << IbvQpType.IBV_QPT_UC | 1 << IbvQpType.IBV_QPT_UD | 1 << IbvQpType.IBV_QPT_XRC_SEND
                    | (hca.link.carriesFrames() ? 1 << IbvQpType.IBV_QPT_RAW_PACKET : 0));
        }
        if (to.byteSize() > IbvDeviceAttrEx.ODP_CAPS_PER_TRANSPORT_CAPS_UD_ODP_CAPS) {
            putLong(to, IbvDeviceAttrEx.ODP_CAPS_GENERAL_CAPS, PAGING);
            putInt(to, IbvDeviceAttrEx.ODP_CAPS_PER_TRANSPORT_CAPS_RC_ODP_CAPS, PAGED_RC);
            putInt(to, IbvDeviceAttrEx.ODP_CAPS_PER_TRANSPORT_CAPS_UC_ODP_CAPS, PAGED_UC);
            putInt(to, IbvDeviceAttrEx.ODP_CAPS_PER_TRANSPORT_CAPS_UD_ODP_CAPS, PAGED_UD);
        }
        if (to.byteSize() > IbvDeviceAttrEx.XRC_ODP_CAPS) {
            putInt(to, IbvDeviceAttrEx.XRC_ODP_CAPS, PAGED_RC);
        }
        if (to.byteSize() > IbvDeviceAttrEx.TM_CAPS_MAX_SGE) { // no rendezvous: the program reads the payload
            putInt(to, IbvDeviceAttrEx.TM_CAPS_MAX_NUM_TAGS, Limits.TAGS);
            putInt(to, IbvDeviceAttrEx.TM_CAPS_FLAGS, IbvTmCapFlags.IBV_TM_CAP_RC);
            putInt(to, IbvDeviceAttrEx.TM_CAPS_MAX_OPS, Limits.TAGS);
            putInt(to, IbvDeviceAttrEx.TM_CAPS_MAX_SGE, hca.limits.entries());
        }
        if (to.byteSize() > IbvDeviceAttrEx.MAX_DM_SIZE) {
            putLong(to, IbvDeviceAttrEx.MAX_DM_SIZE, Limits.DEVICE_MEMORY);
        }
        long checks = hca.link.carriesFrames() ? IbvDevice64CapFlags.IBV_DEVICE_RAW_SCATTER_FCS : 0;
        if (to.byteSize() > IbvDeviceAttrEx.DEVICE_CAP_FLAGS_EX) {
            putLong(to, IbvDeviceAttrEx.DEVICE_CAP_FLAGS_EX, capabilities() | CAN_EX | checks);
        }
        if (to.byteSize() > IbvDeviceAttrEx.TSO_CAPS_SUPPORTED_QPTS) {
            putInt(to, IbvDeviceAttrEx.TSO_CAPS_MAX_TSO, Limits.SEGMENTED);
            putInt(to, IbvDeviceAttrEx.TSO_CAPS_SUPPORTED_QPTS, 1 << IbvQpType.IBV_QPT_UD
                    | (hca.link.carriesFrames() ? 1 << IbvQpType.IBV_QPT_RAW_PACKET : 0));
        }
        if (hca.link.carriesFrames() && to.byteSize() > IbvDeviceAttrEx.RAW_PACKET_CAPS) {
            workQueues(to);
        }
        return device(to);
    }

    private static void workQueues(MemorySegment to) {
        putInt(to, IbvDeviceAttrEx.RSS_CAPS_SUPPORTED_QPTS, 1 << IbvQpType.IBV_QPT_RAW_PACKET);
        putInt(to, IbvDeviceAttrEx.RSS_CAPS_MAX_RWQ_INDIRECTION_TABLES, Limits.TABLES);
        putInt(to, IbvDeviceAttrEx.RSS_CAPS_MAX_RWQ_INDIRECTION_TABLE_SIZE, 1 << Limits.LOG_TABLE);
        putLong(to, IbvDeviceAttrEx.RSS_CAPS_RX_HASH_FIELDS_MASK, Limits.HASHED);
        putByte(to, IbvDeviceAttrEx.RSS_CAPS_RX_HASH_FUNCTION, IbvRxHashFunctionFlags.IBV_RX_HASH_FUNC_TOEPLITZ);
        putInt(to, IbvDeviceAttrEx.MAX_WQ_TYPE_RQ, Limits.WORK_QUEUES);
        putInt(to, IbvDeviceAttrEx.RAW_PACKET_CAPS, IbvRawPacketCaps.IBV_RAW_PACKET_CAP_CVLAN_STRIPPING
                | IbvRawPacketCaps.IBV_RAW_PACKET_CAP_SCATTER_FCS);
    }

    private int capabilities() {
        return CAN
                | (hca.link.carriesFrames() ? IbvDeviceCapFlags.IBV_DEVICE_MANAGED_FLOW_STEERING : 0)
                | (migrates() ? IbvDeviceCapFlags.IBV_DEVICE_AUTO_PATH_MIG : 0);
    }

    /** Tells whether queue pairs can have an alternate path, which Linux has on InfiniBand only. */
    private boolean migrates() {
        return hca.semantics == Semantics.STRICT;
    }

    int port(int port, MemorySegment to) {
        if (port != Limits.PORT) {
            return -Errno.EINVAL;
        }
        to.fill((byte) 0);
        putInt(to, IbvPortAttr.STATE, hca.isUp() ? IbvPortState.IBV_PORT_ACTIVE : IbvPortState.IBV_PORT_DOWN);
        putInt(to, IbvPortAttr.MAX_MTU, mtuCode(4096));
        putInt(to, IbvPortAttr.ACTIVE_MTU, mtuCode(hca.mtu()));
        putInt(to, IbvPortAttr.GID_TBL_LEN, GID_TABLE);
        putInt(to, IbvPortAttr.PORT_CAP_FLAGS, IbvPortCapFlags.IBV_PORT_CM_SUP
                | IbvPortCapFlags.IBV_PORT_IP_BASED_GIDS
                | (migrates() ? IbvPortCapFlags.IBV_PORT_AUTO_MIGR_SUP : 0));
        putInt(to, IbvPortAttr.MAX_MSG_SZ, (int) Hca.MAX_MESSAGE);
        putShort(to, IbvPortAttr.PKEY_TBL_LEN, 1);
        putByte(to, IbvPortAttr.MAX_VL_NUM, 1);
        putByte(to, IbvPortAttr.ACTIVE_WIDTH, 1);
        putByte(to, IbvPortAttr.ACTIVE_SPEED, 1);
        putByte(to, IbvPortAttr.PHYS_STATE, hca.isUp() ? LINK_UP : DISABLED);
        putByte(to, IbvPortAttr.LINK_LAYER, IbvLinkLayer.IBV_LINK_LAYER_ETHERNET);
        return 0;
    }

    /** Returns an MTU as {@code enum ibv_mtu}. */
    private static int mtuCode(int bytes) {
        return Integer.numberOfTrailingZeros(bytes) - 7;
    }

    int gid(int port, int index, MemorySegment to) {
        if (port != Limits.PORT || index < 0 || index >= GID_TABLE) {
            return -Errno.EINVAL;
        }
        boolean there = index < hca.gids.size();
        putBig(to, 0, there ? hca.gids.high(index) : 0);
        putBig(to, Long.BYTES, there ? hca.gids.low(index) : 0);
        return 0;
    }

    int gidEntry(int port, int index, MemorySegment to) {
        int result = gid(port, index, to);
        if (result < 0) {
            return result;
        }
        if (index >= hca.gids.size()) {
            return -Errno.ENODATA;
        }
        putInt(to, IbvGidEntry.GID_INDEX, index);
        putInt(to, IbvGidEntry.PORT_NUM, port);
        putInt(to, IbvGidEntry.GID_TYPE, IbvGidType.IBV_GID_TYPE_ROCE_V2);
        putInt(to, IbvGidEntry.NDEV_IFINDEX, 0);
        return 0;
    }

    int gidTable(MemorySegment to) {
        int size = hca.gids.size();
        if (to.byteSize() < (long) size * IbvGidEntry.SIZE) {
            return -Errno.EINVAL;
        }
        for (int i = 0; i < size; i++) {
            gidEntry(Limits.PORT, i, to.asSlice((long) i * IbvGidEntry.SIZE, IbvGidEntry.SIZE));
        }
        return size;
    }

    private static void putBig(MemorySegment to, long offset, long value) {
        to.set(BIG_LONG, offset, value);
    }

    private static void putLong(MemorySegment to, long offset, long value) {
        to.set(ValueLayout.JAVA_LONG_UNALIGNED, offset, value);
    }

    private static void putInt(MemorySegment to, long offset, int value) {
        to.set(ValueLayout.JAVA_INT_UNALIGNED, offset, value);
    }

    private static void putShort(MemorySegment to, long offset, int value) {
        to.set(ValueLayout.JAVA_SHORT_UNALIGNED, offset, (short) value);
    }

    private static void putByte(MemorySegment to, long offset, int value) {
        to.set(ValueLayout.JAVA_BYTE, offset, (byte) value);
    }
}
