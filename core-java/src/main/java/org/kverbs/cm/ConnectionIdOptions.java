package org.kverbs.cm;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.kverbs.RdmaSystemException;
import org.kverbs.attributes.QueuePairTimers;
import org.kverbs.internal.abi.IbvEce;
import org.kverbs.internal.abi.IbvPathData;
import org.kverbs.internal.abi.IbvPathFlags;
import org.kverbs.internal.abi.IbvPathRecord;
import org.kverbs.internal.abi.RdmaOption;
import org.kverbs.internal.abi.RdmaOptionIb;
import org.kverbs.internal.abi.RdmaOptionId;
import org.kverbs.internal.values.Ranges;

/**
 * The options of a {@link ConnectionId} ({@code rdma_set_option}, {@code rdma_set_local_ece}). Each is set before the
 * step that it is for; what the kernel or the device doesn't know is refused with an {@link RdmaSystemException} that
 * names the option. Any thread may call.
 */
public final class ConnectionIdOptions {

    private static final int WHOLE_PATH = IbvPathFlags.IBV_PATH_FLAG_GMP
            | IbvPathFlags.IBV_PATH_FLAG_PRIMARY
            | IbvPathFlags.IBV_PATH_FLAG_BIDIRECTIONAL;
    private static final int MAX_ACK_TIMEOUT = 31;

    private final ConnectionId id;

    ConnectionIdOptions(ConnectionId id) {
        this.id = id;
    }

    /**
     * The type of service of the packets ({@code RDMA_OPTION_ID_TOS}; RFC 2474): before the route is resolved.
     *
     * @param tos 0 to 255: the six bits of the DSCP and two below them
     */
    public void typeOfService(int tos) {
        Ranges.require("type of service", tos, 0, 255);
        setByte(RdmaOptionId.RDMA_OPTION_ID_TOS, "tos=" + tos, tos);
    }

    /**
     * Whether an address in use may be bound to again, unless somebody listens ({@code RDMA_OPTION_ID_REUSEADDR}):
     * before binding.
     */
    public void reuseAddress(boolean on) {
        setInt(RdmaOptionId.RDMA_OPTION_ID_REUSEADDR, "reuseaddr=" + on, on);
    }

    /** Whether the IPv6 wildcard address leaves IPv4 out ({@code RDMA_OPTION_ID_AFONLY}): before binding. */
    public void addressFamilyOnly(boolean on) {
        setInt(RdmaOptionId.RDMA_OPTION_ID_AFONLY, "afonly=" + on, on);
    }

    /**
     * How long the queue pair waits for an acknowledgement ({@code RDMA_OPTION_ID_ACK_TIMEOUT}): before connecting, or
     * before accepting.
     *
     * @param code 0 to 31, 4.096 us * 2^code, 0 for ever; see {@link QueuePairTimers}
     */
    public void ackTimeout(int code) {
        Ranges.require("acknowledge timeout code", code, 0, MAX_ACK_TIMEOUT);
        setByte(RdmaOptionId.RDMA_OPTION_ID_ACK_TIMEOUT, "ack_timeout=" + code, code);
    }

    /**
     * Sets the path instead of resolving the route ({@code RDMA_OPTION_IB_PATH}): after the address is resolved;
     * ROUTE_RESOLVED follows.
     *
     * @param pathRecord 64 bytes in network order, as the subnet administration gives it (IBA volume 1, section
     *     15.2.5.16)
     */
    public void path(byte[] pathRecord) {
        if (pathRecord.length != IbvPathRecord.SIZE) {
            throw new IllegalArgumentException("a path record has " + IbvPathRecord.SIZE + " bytes, not "
                    + pathRecord.length);
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value = arena.allocate(IbvPathData.SIZE, Long.BYTES);
            value.set(JAVA_INT, IbvPathData.FLAGS, WHOLE_PATH);
            MemorySegment.copy(pathRecord, 0, value, JAVA_BYTE, IbvPathData.PATH, pathRecord.length);
            set(RdmaOption.RDMA_OPTION_IB, RdmaOptionIb.RDMA_OPTION_IB_PATH, "ib_path", value);
        }
    }

    private void setByte(int name, String text, int number) {
        try (Arena arena = Arena.ofConfined()) {
            set(RdmaOption.RDMA_OPTION_ID, name, text, arena.allocateFrom(JAVA_BYTE, (byte) number));
        }
    }

    private void setInt(int name, String text, boolean on) {
        try (Arena arena = Arena.ofConfined()) {
            set(RdmaOption.RDMA_OPTION_ID, name, text, arena.allocateFrom(JAVA_INT, on ? 1 : 0));
        }
    }

    private void set(int level, int name, String text, MemorySegment value) {
        id.command("rdma_set_option(" + text + ")", () -> id.manager().setOption(id.handle(), level, name, value));
    }

    /** What the next connect or accept offers ({@code rdma_set_local_ece}); the vendor must not be 0. */
    public void localEce(Ece ece) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value = arena.allocate(IbvEce.SIZE, Integer.BYTES);
            ece.writeTo(value);
            id.command("rdma_set_local_ece(" + ece + ")", () -> id.manager().setLocalEce(id.handle(), value));
        }
    }

    /** What the peer's request or answer offered ({@code rdma_get_remote_ece}); all 0 for nothing. */
    public Ece remoteEce() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value = arena.allocate(IbvEce.SIZE, Integer.BYTES);
            id.command("rdma_get_remote_ece(" + id.describe()
                    + ")", () -> id.manager().getRemoteEce(id.handle(), value));
            return Ece.from(value);
        }
    }
}
