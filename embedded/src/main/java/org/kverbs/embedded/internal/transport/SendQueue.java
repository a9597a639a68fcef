package org.kverbs.embedded.internal.transport;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.objects.Ah;
import org.kverbs.embedded.internal.objects.Mr;
import org.kverbs.embedded.internal.objects.Mw;
import org.kverbs.embedded.internal.objects.Occupancy;
import org.kverbs.embedded.internal.objects.Referenced;
import org.kverbs.internal.PlacementExtensions;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvMw;
import org.kverbs.internal.abi.IbvMwType;
import org.kverbs.internal.abi.IbvQpCreateSendOpsFlags;
import org.kverbs.internal.abi.IbvQpType;
import org.kverbs.internal.abi.IbvSendFlags;
import org.kverbs.internal.abi.IbvSendWr;
import org.kverbs.internal.abi.IbvSge;
import org.kverbs.internal.abi.IbvWrOpcode;
import org.kverbs.internal.memory.Memory;

/**
 * Keeps posted sends in a ring. Requests before the {@link #cursor} were sent; done requests leave at the head. The
 * ring grows to the largest number of requests that were ever posted at once: an idle queue pair needs few.
 */
public final class SendQueue {

    /** The number of slots of a new ring. */
    private static final int SMALLEST = 4;

    private static final int OF_ALL = 1 << IbvWrOpcode.IBV_WR_SEND | 1 << IbvWrOpcode.IBV_WR_SEND_WITH_IMM;
    private static final int OF_CONNECTED = OF_ALL
            | 1 << IbvWrOpcode.IBV_WR_RDMA_WRITE
            | 1 << IbvWrOpcode.IBV_WR_RDMA_WRITE_WITH_IMM
            | 1 << IbvWrOpcode.IBV_WR_BIND_MW
            | 1 << IbvWrOpcode.IBV_WR_LOCAL_INV;
    private static final int OF_RELIABLE = OF_CONNECTED
            | 1 << IbvWrOpcode.IBV_WR_SEND_WITH_INV
            | 1 << IbvWrOpcode.IBV_WR_RDMA_READ
            | 1 << IbvWrOpcode.IBV_WR_ATOMIC_CMP_AND_SWP
            | 1 << IbvWrOpcode.IBV_WR_ATOMIC_FETCH_AND_ADD;
    /**
     * What can only fail on XRC: a window of type 2 admits the peers of the queue pair that bound it, and the queue
     * pair that sends takes no requests of XRC. An extended queue pair may be made for these, as with mlx5.
     */
    private static final int OF_KEYS = 1 << IbvWrOpcode.IBV_WR_SEND_WITH_INV
            | 1 << IbvWrOpcode.IBV_WR_BIND_MW
            | 1 << IbvWrOpcode.IBV_WR_LOCAL_INV;
    /** What only an extended queue pair that was made for it has. */
    private static final int OF_PLACEMENT =
            1 << IbvWrOpcode.IBV_WR_ATOMIC_WRITE | 1 << PlacementExtensions.IBV_WR_FLUSH;
    /** What only a queue pair with room for the headers has, by the extended calls only if it was made for it. */
    private static final int OF_SEGMENTS = 1 << IbvWrOpcode.IBV_WR_TSO;
    /** What a queue pair is made for. */
    private static final int OF_ASKED = OF_PLACEMENT | OF_SEGMENTS;

    /** The bits of {@code enum ibv_qp_create_send_ops_flags}, by {@code enum ibv_wr_opcode}. */
    private static final int[] FLAGS = {
        IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_RDMA_WRITE,
        IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
        IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_SEND,
        IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_SEND_WITH_IMM,
        IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_RDMA_READ,
        IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP,
        IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
        IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_LOCAL_INV,
        IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_BIND_MW,
        IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_SEND_WITH_INV,
        IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_TSO,
        0, // DRIVER1
        0,
        0,
        PlacementExtensions.IBV_QP_EX_WITH_FLUSH,
        IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_ATOMIC_WRITE,
    };

    private final Qp qp;
    private final Referenced referenced;
    private final int maxEntries;
    private final int maxInline;
    private final int capacity;
    /** Keeps the inline data alive. */
    private final MemorySegment inline;
    private SendWqe[] slots;
    /** The occupied slots; with strict semantics these can be more than the requests in the ring. */
    final Occupancy occupied;
    private int head;
    private int size;
    private int cursor;
    /** What the queue pair was made for of {@link #OF_ASKED}. */
    private int optional;
    private int maxTsoHeader;

    SendQueue(Qp qp, Referenced referenced, int capacity, int maxEntries, int maxInline) {
        this.qp = qp;
        this.referenced = referenced;
        this.capacity = capacity;
        this.maxEntries = maxEntries;
        this.maxInline = maxInline;
        this.occupied = new Occupancy(qp.hca.semantics, false);
        inline = maxInline == 0 ? MemorySegment.NULL : Arena.ofAuto().allocate((long) capacity * maxInline, 8);
        slots = new SendWqe[Math.min(SMALLEST, capacity)];
        fill(slots, 0);
    }

    private void fill(SendWqe[] ring, int from) {
        for (int i = from; i < ring.length; i++) {
            ring[i] = new SendWqe(maxEntries, inline.address() + (long) i * maxInline);
        }
    }

    /** Enlarges the full ring. */
    private void grow() {
        var larger = new SendWqe[Math.min(2 * slots.length, capacity)];
        for (int i = 0; i < size; i++) {
            larger[i] = get(i);
        }
        fill(larger, size);
        slots = larger; // assigned only after all allocations succeeded
        head = 0;
    }

    /** Returns the slot after the last request, reset. */
    private SendWqe next() {
        if (size == slots.length) {
            grow();
        }
        SendWqe wqe = get(size);
        wqe.reset();
        return wqe;
    }

    int size() {
        return size;
    }

    int capacity() {
        return capacity;
    }

    int maxEntries() {
        return maxEntries;
    }

    int maxInline() {
        return maxInline;
    }

    /** Returns how many requests from the head on were sent completely; the next one is to be sent. */
    int cursor() {
        return cursor;
    }

    /** Notes that the request at the cursor was sent completely. */
    void advance() {
        cursor++;
    }

    /** Makes the i-th request from the head the next one to send, for the first time or again. */
    void backTo(int i) {
        cursor = i;
    }

    /** Returns the i-th request from the head. */
    SendWqe get(int i) {
        int slot = head + i;
        return slots[slot < slots.length ? slot : slot - slots.length];
    }

    /** Removes the request at the head. */
    void pop() {
        head = head + 1 == slots.length ? 0 : head + 1;
        size--;
        cursor = Math.max(0, cursor - 1);
    }

    void clear() {
        head = 0;
        size = 0;
        cursor = 0;
        occupied.clear();
    }

    /** Stops sending at a request that failed; requests before it may have to be sent again. */
    void stopAt(SendWqe failed) {
        int at = 0;
        while (at < cursor && get(at) != failed) {
            at++;
        }
        cursor = at;
    }

    /** Removes the newest requests until this many are left; none of the removed may have been sent or watched. */
    void cut(int length) {
        occupied.free(size - length);
        size = length;
    }

    /**
     * Adds one {@code struct ibv_send_wr}; the caller calls {@link #watch} when all of its list are in. Returns 0 or
     * -errno.
     */
    int post(long workRequest) {
        long request = Memory.known(workRequest);
        int opcode = Memory.getInt(request + IbvSendWr.OPCODE);
        int flags = Memory.getInt(request + IbvSendWr.SEND_FLAGS);
        int count = Memory.getInt(request + IbvSendWr.NUM_SGE);
        if (opcode < 0 || opcode > 31 || (allowed() & 1 << opcode) == 0 || count < 0 || count > maxEntries) {
            return -Errno.EINVAL;
        }
        if (occupied.count() == capacity) {
            return -Errno.ENOMEM;
        }
        SendWqe wqe = next();
        wqe.id = Memory.getLong(request + IbvSendWr.WR_ID);
        wqe.opcode = opcode;
        wqe.flags = flags;
        wqe.count = count;
        int word = Memory.getInt(request + IbvSendWr.IMM_DATA);
        boolean native_ = ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN || !wqe.hasImmediate();
        wqe.immediate = native_ ? word : Integer.reverseBytes(word);
        int result = readEntries(wqe, Memory.known(Memory.getLong(request + IbvSendWr.SG_LIST)));
        if (result == 0) {
            result = readTarget(wqe, request);
        }
        if (result == 0 && wqe.isSegmented()) {
            result = Segments.read(wqe, request, qp);
        }
        if (result == 0 && qp.type == IbvQpType.IBV_QPT_XRC_SEND && !wqe.isLocal()) {
            wqe.sharedQueue = Memory.getInt(request + IbvSendWr.QP_TYPE_XRC_REMOTE_SRQN);
            result = (wqe.sharedQueue & ~Psn.MASK) == 0 ? 0 : -Errno.EINVAL;
        }
        if (result == 0) {
            size++;
            occupied.take();
        }
        return result;
    }

    /** Adds the binding of a type 1 window, which has a call of its own. Returns 0 or -errno. */
    public int postBind(
            long id, int flags, Mw window, @Nullable Mr region, long address, long length, int access) {
        if (occupied.count() == capacity) {
            return -Errno.ENOMEM;
        }
        SendWqe wqe = next();
        wqe.id = id;
        wqe.opcode = IbvWrOpcode.IBV_WR_BIND_MW;
        wqe.flags = flags;
        wqe.count = 0;
        wqe.length = 0;
        wqe.rkey = window.giveKey();
        wqe.window = window;
        wqe.region = region;
        wqe.bindAddress = address;
        wqe.bindLength = length;
        wqe.bindAccess = access;
        size++;
        occupied.take();
        watch(size - 1);
        return 0;
    }

    /**
     * Lets the diagnostics watch the memory of the requests from an index on, if they are on: these requests are posted
     * now.
     */
    void watch(int from) {
        for (int i = from; qp.hca.watch != null && i < size; i++) {
            get(i).watch(qp.hca.watch, qp);
        }
    }

    /** The opcodes that the queue pair takes: bit n for the constant n of {@code enum ibv_wr_opcode}. */
    private int allowed() {
        return opcodes(qp.type) & ~OF_ASKED & ~(qp.type == IbvQpType.IBV_QPT_XRC_SEND ? OF_KEYS : 0) | optional;
    }

    /** Lets the queue pair take what it was made for among {@code enum ibv_qp_create_send_ops_flags}. */
    public void permit(long operations) {
        optional = 0;
        for (int opcode = 0; opcode < FLAGS.length; opcode++) {
            optional |= (operations & FLAGS[opcode]) == 0 ? 0 : 1 << opcode & OF_ASKED;
        }
    }

    /** Makes room for the headers of sends that are cut into segments, and lets the plain calls post these. */
    public void segment(int maxHeader) {
        maxTsoHeader = maxHeader;
        optional |= OF_SEGMENTS;
    }

    int maxTsoHeader() {
        return maxTsoHeader;
    }

    /** Returns the bits of {@code enum ibv_qp_create_send_ops_flags} that a type of queue pair supports. */
    public static long operations(int type) {
        long operations = 0;
        for (int opcode = 0; opcode < FLAGS.length; opcode++) {
            operations |= (opcodes(type) & 1 << opcode) == 0 ? 0 : FLAGS[opcode];
        }
        return operations;
    }

    private static int opcodes(int type) {
        return switch (type) {
            case IbvQpType.IBV_QPT_RC -> OF_RELIABLE | OF_PLACEMENT;
            case IbvQpType.IBV_QPT_XRC_SEND -> OF_RELIABLE;
            case IbvQpType.IBV_QPT_XRC_RECV -> 0;
            case IbvQpType.IBV_QPT_UC -> OF_CONNECTED;
            case IbvQpType.IBV_QPT_RAW_PACKET -> 1 << IbvWrOpcode.IBV_WR_SEND | OF_SEGMENTS;
            default -> OF_ALL | OF_SEGMENTS;
        };
    }

    private int readEntries(SendWqe wqe, long entry) {
        boolean isInline = (wqe.flags & IbvSendFlags.IBV_SEND_INLINE) != 0;
        wqe.length = 0;
        for (int i = 0; i < wqe.count; i++) {
            long address = Memory.getLong(entry + IbvSge.ADDR);
            int bytes = Memory.getInt(entry + IbvSge.LENGTH);
            long length = Integer.toUnsignedLong(bytes);
            if (isInline) {
                if (wqe.length + length > maxInline) {
                    return -Errno.EINVAL;
                }
                Memory.copy(address, wqe.inlineAddress + wqe.length, length);
            } else {
                wqe.addresses[i] = address;
                wqe.lengths[i] = bytes;
                wqe.lkeys[i] = Memory.getInt(entry + IbvSge.LKEY);
            }
            wqe.length += length;
            entry += IbvSge.SIZE;
        }
        return 0;
    }

    private int readTarget(SendWqe wqe, long request) {
        return switch (wqe.opcode) {
            case IbvWrOpcode.IBV_WR_ATOMIC_CMP_AND_SWP, IbvWrOpcode.IBV_WR_ATOMIC_FETCH_AND_ADD -> {
                wqe.remoteAddress = Memory.getLong(request + IbvSendWr.WR_ATOMIC_REMOTE_ADDR);
                wqe.compareOrAdd = Memory.getLong(request + IbvSendWr.WR_ATOMIC_COMPARE_ADD);
                wqe.swap = Memory.getLong(request + IbvSendWr.WR_ATOMIC_SWAP);
                wqe.rkey = Memory.getInt(request + IbvSendWr.WR_ATOMIC_RKEY);
                yield wqe.length < 8 || wqe.isInline() || (wqe.remoteAddress & 7) != 0 ? -Errno.EINVAL : 0;
            }
            case IbvWrOpcode.IBV_WR_ATOMIC_WRITE, PlacementExtensions.IBV_WR_FLUSH -> readPlacement(wqe, request);
            case IbvWrOpcode.IBV_WR_BIND_MW -> readBind(wqe, request);
            case IbvWrOpcode.IBV_WR_LOCAL_INV -> 0;
            default -> {
                if (qp.type == IbvQpType.IBV_QPT_UD) {
                    yield readDatagram(wqe, request);
                }
                wqe.remoteAddress = Memory.getLong(request + IbvSendWr.WR_RDMA_REMOTE_ADDR);
                wqe.rkey = Memory.getInt(request + IbvSendWr.WR_RDMA_RKEY);
                yield wqe.isRead() && wqe.isInline() ? -Errno.EINVAL : 0;
            }
        };
    }

    /** Reads an atomic write or a flush; see {@link PlacementExtensions}. */
    private static int readPlacement(SendWqe wqe, long request) {
        wqe.remoteAddress = Memory.getLong(request + IbvSendWr.WR_ATOMIC_REMOTE_ADDR);
        wqe.rkey = Memory.getInt(request + IbvSendWr.WR_ATOMIC_RKEY);
        wqe.compareOrAdd = Memory.getLong(request + PlacementExtensions.VALUE);
        if (wqe.count != 0 || wqe.isInline()) {
            return -Errno.EINVAL; // the request has all its bytes
        }
        if (wqe.isAtomicWrite()) {
            wqe.length = Long.BYTES;
            return (wqe.remoteAddress & 7) == 0 ? 0 : -Errno.EINVAL;
        }
        wqe.placement = Feth.of(
                Memory.getInt(request + PlacementExtensions.TYPE), Memory.getInt(request + PlacementExtensions.LEVEL));
        boolean fits = wqe.compareOrAdd >= 0 && wqe.compareOrAdd <= Hca.MAX_MESSAGE;
        return fits && Feth.isValid(wqe.placement) ? 0 : -Errno.EINVAL;
    }

    private int readDatagram(SendWqe wqe, long request) {
        Ah ah = referenced.addresses().get(Memory.getLong(request + IbvSendWr.WR_UD_AH));
        if (ah == null || !ah.pd.protects(qp.pd)) {
            return -Errno.EINVAL;
        }
        wqe.route.copy(ah.route);
        wqe.remoteQp = Memory.getInt(request + IbvSendWr.WR_UD_REMOTE_QPN) & Psn.MASK;
        wqe.remoteQkey = Memory.getInt(request + IbvSendWr.WR_UD_REMOTE_QKEY);
        return 0;
    }

    private int readBind(SendWqe wqe, long request) {
        long mw = Memory.getLong(request + IbvSendWr.BIND_MW_MW);
        Mw window = referenced.windows().get(mw);
        if (window == null || window.type != IbvMwType.IBV_MW_TYPE_2 || Memory.getInt(mw + IbvMw.TYPE) != window.type) {
            return -Errno.EINVAL;
        }
        wqe.window = window;
        wqe.rkey = Memory.getInt(request + IbvSendWr.BIND_MW_RKEY);
        wqe.region = referenced.regions().get(Memory.getLong(request + IbvSendWr.BIND_MW_BIND_INFO_MR));
        wqe.bindAddress = Memory.getLong(request + IbvSendWr.BIND_MW_BIND_INFO_ADDR);
        wqe.bindLength = Memory.getLong(request + IbvSendWr.BIND_MW_BIND_INFO_LENGTH);
        wqe.bindAccess = Memory.getInt(request + IbvSendWr.BIND_MW_BIND_INFO_MW_ACCESS_FLAGS);
        return 0;
    }
}
