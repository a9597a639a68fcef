package org.kverbs.cm;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.kverbs.RdmaSystemException;
import org.kverbs.attributes.Ece;
import org.kverbs.attributes.QueuePairTimers;
import org.kverbs.internal.Structures;
import org.kverbs.internal.abi.IbvEce;
import org.kverbs.internal.abi.IbvPathData;
import org.kverbs.internal.abi.IbvPathFlags;
import org.kverbs.internal.abi.IbvPathRecord;
import org.kverbs.internal.abi.RdmaOption;
import org.kverbs.internal.abi.RdmaOptionIb;
import org.kverbs.internal.abi.RdmaOptionId;
import org.kverbs.internal.values.Ranges;

/**
 * The options of a {@link ConnectionId} ({@code rdma_set_option}, {@code rdma_set_local_ece}). Set an option before the
 * step that it is for. If the kernel or the device does not know an option, its setter throws an {@link
 * RdmaSystemException} that names it. Safe for any thread.
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
     * Sets the type of service of the packets ({@code RDMA_OPTION_ID_TOS}; RFC 2474). Call this before resolving the
     * route.
     *
     * @param tos 0 to 255: the six bits of the DSCP and the two bits below them
     */
    public void typeOfService(int tos) {
        Ranges.require("type of service", tos, 0, 255);
        setByte(RdmaOptionId.RDMA_OPTION_ID_TOS, "tos=" + tos, tos);
    }

    /**
     * Sets whether the id can bind to an address that another id uses, unless that id listens ({@code
     * RDMA_OPTION_ID_REUSEADDR}). Call this before binding.
     */
    public void reuseAddress(boolean on) {
        setInt(RdmaOptionId.RDMA_OPTION_ID_REUSEADDR, "reuseaddr=" + on, on);
    }

    /**
     * Sets whether the IPv6 wildcard address excludes IPv4 ({@code RDMA_OPTION_ID_AFONLY}). Call this before binding.
     */
    public void addressFamilyOnly(boolean on) {
        setInt(RdmaOptionId.RDMA_OPTION_ID_AFONLY, "afonly=" + on, on);
    }

    /**
     * Sets how long the queue pair waits for an acknowledgement ({@code RDMA_OPTION_ID_ACK_TIMEOUT}). Call this before
     * connecting or accepting.
     *
     * @param code 0 to 31: 4.096 us * 2^code, 0 for no timeout; see {@link QueuePairTimers}
     */
    public void ackTimeout(int code) {
        Ranges.require("acknowledge timeout code", code, 0, MAX_ACK_TIMEOUT);
        setByte(RdmaOptionId.RDMA_OPTION_ID_ACK_TIMEOUT, "ack_timeout=" + code, code);
    }

    /**
     * Sets the path instead of resolving the route ({@code RDMA_OPTION_IB_PATH}). Call this after the address is
     * resolved. ROUTE_RESOLVED follows.
     *
     * @param pathRecord the path record of the subnet administration, 64 bytes in network order (IBA volume 1, section
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

    /**
     * Sets the vendor's options that the next connect or accept offers ({@code rdma_set_local_ece}). The vendor must
     * not be 0.
     */
    public void localEce(Ece ece) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value = arena.allocate(IbvEce.SIZE, Integer.BYTES);
            Structures.ECE.write(ece, value);
            id.command("rdma_set_local_ece(" + ece + ")", () -> id.manager().setLocalEce(id.handle(), value));
        }
    }

    /**
     * Returns the vendor's options that the peer's request or answer offered ({@code rdma_get_remote_ece}). All fields
     * are 0 if it offered none.
     */
    public Ece remoteEce() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value = arena.allocate(IbvEce.SIZE, Integer.BYTES);
            id.command("rdma_get_remote_ece(" + id.describe()
                    + ")", () -> id.manager().getRemoteEce(id.handle(), value));
            return Structures.ECE.read(value);
        }
    }
}
