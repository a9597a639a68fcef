package org.kverbs;

import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.kverbs.attributes.AccessFlag;
import org.kverbs.attributes.Feature;
import org.kverbs.attributes.FlushPlacement;
import org.kverbs.attributes.MemoryWindowType;
import org.kverbs.attributes.QueuePairCapabilities;
import org.kverbs.internal.DriverAddress;
import org.kverbs.internal.InlineArea;
import org.kverbs.internal.PlacementExtensions;
import org.kverbs.internal.SegmentedSend;
import org.kverbs.internal.WorkRequestArena;
import org.kverbs.internal.abi.IbvMw;
import org.kverbs.internal.abi.IbvQpCreateSendOpsFlags;
import org.kverbs.internal.abi.IbvSendFlags;
import org.kverbs.internal.abi.IbvSendWr;
import org.kverbs.internal.abi.IbvWrOpcode;
import org.kverbs.internal.memory.Memory;
import org.kverbs.internal.values.Ranges;

/**
 * A reusable list of send work requests ({@code struct ibv_send_wr}) in native memory, posted in one call. An operation
 * such as {@link #send} begins a request; the methods after it add to that request.
 *
 * <pre>{@code
 * requests.clear();
 * requests.write(1, remote).from(header).from(body);
 * requests.sendWithImmediate(2, 0xcafe).from(note).signaled().fence();
 * qp.post(requests);
 * }</pre>
 *
 * <p>For one thread at a time. The list can be cleared and used again as soon as the post has returned. The buffers
 * belong to the device until the completion; the bytes of an inline request are copied at once. The list allocates
 * memory only when it grows. Source: {@code man 3 ibv_post_send}.
 */
public final class SendRequests {

    static {
        WorkRequestArena.DOOR.open(list -> ((SendRequests) list).requests);
    }

    /** The most bytes that one {@link #flush} covers. */
    public static final long MOST_FLUSHED = 1L << 31;

    private static final boolean SWAP = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;

    /**
     * How many requests with one buffer each have room in a new list. A list that never grows is written faster: the
     * JIT leaves out what never happens.
     */
    static final int CAPACITY = 16;

    final WorkRequestArena requests = new WorkRequestArena(IbvSendWr.SIZE, CAPACITY);
    private final InlineArea inlineArea = new InlineArea();
    /** False while the list has only requests, buffers and flags; then nothing below must be looked at or cleared. */
    boolean hasMore;
    /**
     * The address handles, windows and regions that the C library reads during a post. They must not be closed
     * meanwhile.
     */
    Resource[] used = new Resource[4];

    int usedCount;
    /** The owners of slices; see {@link #owners}. */
    private Object[] owners = new Object[4];

    private int ownerCount;
    /** True if a request binds a window, so that {@link #keepKeys} must run. */
    boolean binds;

    /** The operations in the list that a queue pair can lack; see {@link OptionalOperations}. */
    int optional;

    /** How many requests from the first on are messages to an address. */
    private int addressed;
    /** How many requests from the first on have a destination, whatever their operation. */
    private int destined;
    /** How many requests from the first on name a shared receive queue, or are local and need none. */
    private int naming;

    /** Makes an empty list. */
    public SendRequests() {}

    /** Removes all requests. */
    public void clear() {
        requests.clear();
        if (hasMore) {
            clearMore();
        }
    }

    private void clearMore() {
        hasMore = false;
        inlineArea.clear();
        if (usedCount > 0) {
            Arrays.fill(used, 0, usedCount, null);
            usedCount = 0;
        }
        if (ownerCount > 0) {
            Arrays.fill(owners, 0, ownerCount, null);
            ownerCount = 0;
        }
        binds = false;
        optional = 0;
        addressed = 0;
        destined = 0;
        naming = 0;
    }

    /**
     * Returns the index of the first request without an address, or -1. On a UD queue pair the C library follows the
     * pointer in the place of the address, so such a request must not reach it.
     */
    int firstUnaddressed() {
        return addressed == size() ? -1 : addressed;
    }

    /**
     * Returns the index of the first request that XRC can't send, because it names no shared receive queue; or -1.
     */
    int firstWithoutQueue() {
        return naming == size() ? -1 : naming;
    }

    /** Notes that the last request names a queue or needs none. */
    private void noteNamed() {
        hasMore = true;
        if (naming == size() - 1) {
            naming++;
        }
    }

    /**
     * Writes the keys of the binds among the first {@code posted} requests into their windows. The C library leaves
     * this to the caller.
     */
    void keepKeys(int posted) {
        for (int i = 0; i < posted; i++) {
            long request = requests.at(i);
            if (Memory.getInt(request + IbvSendWr.OPCODE) == IbvWrOpcode.IBV_WR_BIND_MW) {
                Memory.putInt(
                        Memory.getLong(request + IbvSendWr.BIND_MW_MW) + IbvMw.RKEY,
                        Memory.getInt(request + IbvSendWr.BIND_MW_RKEY));
            }
        }
    }

    /**
     * Returns the opcode that the completion of a request has if the request succeeds.
     *
     * @param index the index of the request, from 0
     * @throws IndexOutOfBoundsException if the list has no such request
     */
    public WorkCompletionOpcode completionOpcode(int index) {
        if (index < 0 || index >= size()) {
            throw new IndexOutOfBoundsException(
                    "request " + index + " is not in the list, which has " + size() + ", numbered from 0");
        }
        return WorkCompletionOpcode.ofRequest(Memory.getInt(requests.at(index) + IbvSendWr.OPCODE));
    }

    /** Returns the number of requests. */
    public int size() {
        return requests.count();
    }

    private SendRequests begin(long workRequestId, int opcode) {
        requests.addSend(workRequestId, opcode);
        return this;
    }

    private SendRequests beginRdma(long workRequestId, int opcode, long remoteAddress, int rkey) {
        long request = requests.addSend(workRequestId, opcode);
        Memory.putLong(request + IbvSendWr.WR_RDMA_REMOTE_ADDR, remoteAddress);
        Memory.putInt(request + IbvSendWr.WR_RDMA_RKEY, rkey);
        return this;
    }

    /** Returns the address of the request that was begun last. */
    private long request() {
        if (requests.isEmpty()) {
            throw new IllegalStateException("no request was begun: call send, write, read or another operation first");
        }
        return requests.last();
    }

    private void immediate(int value) {
        requests.immediateOfLast(SWAP ? Integer.reverseBytes(value) : value);
    }

    /** Begins a message to the peer's next receive request (IBV_WR_SEND). */
    public SendRequests send(long workRequestId) {
        return begin(workRequestId, IbvWrOpcode.IBV_WR_SEND);
    }

    /** Begins a message with 32 bits, in host order, that arrive in the peer's completion (IBV_WR_SEND_WITH_IMM). */
    public SendRequests sendWithImmediate(long workRequestId, int immediate) {
        begin(workRequestId, IbvWrOpcode.IBV_WR_SEND_WITH_IMM);
        immediate(immediate);
        return this;
    }

    /** Begins a message that invalidates one of the peer's keys when it arrives (IBV_WR_SEND_WITH_INV); RC only. */
    public SendRequests sendWithInvalidate(long workRequestId, int rkey) {
        begin(workRequestId, IbvWrOpcode.IBV_WR_SEND_WITH_INV);
        requests.immediateOfLast(rkey);
        return this;
    }

    /**
     * Begins a send that the device cuts into TCP segments (IBV_WR_TSO, {@code ibv_wr_send_tso}); RAW_PACKET and UD, on
     * a queue pair with {@link QueuePairInitAttributes#maxTsoHeader}. {@link #from} adds the payload, a part of a TCP
     * stream. The device sends each {@code segmentSize} bytes of it, and the rest, behind a copy of the header in which
     * it updates the lengths and the sequence number. It also computes the checksums of IPv4 and TCP
     * (IBV_SEND_IP_CSUM). One completion ends the request.
     *
     * @param header the headers of the first segment, up to and with the TCP header. The call copies them
     * @param segmentSize the TCP payload of each segment but the last, in bytes ({@code mss})
     * @throws IllegalArgumentException if the header is empty, or the header or the segment size is above 65,535
     */
    public SendRequests sendSegmented(long workRequestId, MemorySegment header, int segmentSize) {
        Ranges.require("header", header.byteSize(), 1, SegmentedSend.MOST);
        Ranges.require("segmentSize", segmentSize, 1, SegmentedSend.MOST);
        int length = (int) header.byteSize();
        hasMore = true;
        long copy = inlineArea.copy(header, 0, length);
        SegmentedSend.write(
                requests.addSend(workRequestId, IbvWrOpcode.IBV_WR_TSO), copy, length, segmentSize);
        // The header has one checksum for all segments, which fits none.
        requests.flagLast(IbvSendFlags.IBV_SEND_IP_CSUM);
        optional |= IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_TSO;
        return this;
    }

    /** The same with the header in an array. */
    public SendRequests sendSegmented(long workRequestId, byte[] header, int segmentSize) {
        return sendSegmented(workRequestId, MemorySegment.ofArray(header), segmentSize);
    }

    /**
     * Begins a write to the start of a peer's memory (IBV_WR_RDMA_WRITE); RC and UC. The buffers alone decide how many
     * bytes it writes: a list compares them with no {@linkplain RemoteMemory#length length}, which {@link
     * QueuePair#postWrite} does. So it is with the other operations of a list that take a {@code RemoteMemory}.
     */
    public SendRequests write(long workRequestId, RemoteMemory to) {
        return write(workRequestId, to.address(), to.rkey());
    }

    /** The same with address and key given, which the peer's device checks. */
    public SendRequests write(long workRequestId, long remoteAddress, int rkey) {
        return beginRdma(workRequestId, IbvWrOpcode.IBV_WR_RDMA_WRITE, remoteAddress, rkey);
    }

    /**
     * Begins a write that also completes the peer's next receive request, with 32 bits in host order
     * (IBV_WR_RDMA_WRITE_WITH_IMM); RC and UC.
     */
    public SendRequests writeWithImmediate(long workRequestId, long remoteAddress, int rkey, int immediate) {
        beginRdma(workRequestId, IbvWrOpcode.IBV_WR_RDMA_WRITE_WITH_IMM, remoteAddress, rkey);
        immediate(immediate);
        return this;
    }

    /** Begins a write with immediate to the start of a peer's memory (IBV_WR_RDMA_WRITE_WITH_IMM); RC and UC. */
    public SendRequests writeWithImmediate(long workRequestId, RemoteMemory to, int immediate) {
        return writeWithImmediate(workRequestId, to.address(), to.rkey(), immediate);
    }

    /**
     * Begins a read from the start of a peer's memory; {@link #into} names the local buffers (IBV_WR_RDMA_READ); RC
     * only.
     */
    public SendRequests read(long workRequestId, RemoteMemory from) {
        return read(workRequestId, from.address(), from.rkey());
    }

    /** The same with address and key given, which the peer's device checks. */
    public SendRequests read(long workRequestId, long remoteAddress, int rkey) {
        return beginRdma(workRequestId, IbvWrOpcode.IBV_WR_RDMA_READ, remoteAddress, rkey);
    }

    /**
     * Begins an atomic compare and swap (IBV_WR_ATOMIC_CMP_AND_SWP); RC only. If the peer's 8 bytes, aligned to 8,
     * equal {@code compare}, they become {@code swap}. Their former value goes to the 8 local bytes of {@link #into},
     * in host order.
     */
    public SendRequests compareAndSwap(long workRequestId, long remoteAddress, int rkey, long compare, long swap) {
        return beginAtomic(workRequestId, IbvWrOpcode.IBV_WR_ATOMIC_CMP_AND_SWP, remoteAddress, rkey, compare, swap);
    }

    /** The same on the first 8 bytes of a remote memory. */
    public SendRequests compareAndSwap(long workRequestId, RemoteMemory on, long compare, long swap) {
        return compareAndSwap(workRequestId, on.address(), on.rkey(), compare, swap);
    }

    /**
     * Begins an atomic fetch and add (IBV_WR_ATOMIC_FETCH_AND_ADD); RC only. Adds {@code add} to the peer's 8 bytes,
     * aligned to 8. Their former value goes to the 8 local bytes of {@link #into}, in host order.
     */
    public SendRequests fetchAndAdd(long workRequestId, long remoteAddress, int rkey, long add) {
        return beginAtomic(workRequestId, IbvWrOpcode.IBV_WR_ATOMIC_FETCH_AND_ADD, remoteAddress, rkey, add, 0);
    }

    /** The same on the first 8 bytes of a remote memory. */
    public SendRequests fetchAndAdd(long workRequestId, RemoteMemory on, long add) {
        return fetchAndAdd(workRequestId, on.address(), on.rkey(), add);
    }

    private SendRequests beginAtomic(
            long workRequestId, int opcode, long remoteAddress, int rkey, long compareOrAdd, long swap) {
        long request = requests.addSend(workRequestId, opcode);
        Memory.putLong(request + IbvSendWr.WR_ATOMIC_REMOTE_ADDR, remoteAddress);
        Memory.putLong(request + IbvSendWr.WR_ATOMIC_COMPARE_ADD, compareOrAdd);
        Memory.putLong(request + IbvSendWr.WR_ATOMIC_SWAP, swap);
        Memory.putInt(request + IbvSendWr.WR_ATOMIC_RKEY, rkey);
        return this;
    }

    /**
     * Begins an atomic write of 8 bytes (IBV_WR_ATOMIC_WRITE); RC only, on a queue pair with {@link
     * Feature#ATOMIC_WRITE}. No reader of the peer's memory sees a part of them. Writes posted before are there first.
     * The peer must permit {@link AccessFlag#REMOTE_WRITE}. The request carries the bytes, so it has no buffers.
     *
     * @param remoteAddress the address of the peer's 8 bytes, a multiple of 8
     * @param value the bytes as a number in this machine's byte order. They arrive as they are here, so a peer with
     *     another byte order reads another number
     */
    public SendRequests atomicWrite(long workRequestId, long remoteAddress, int rkey, long value) {
        hasMore = true;
        optional |= IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_ATOMIC_WRITE;
        return beginAtomic(workRequestId, IbvWrOpcode.IBV_WR_ATOMIC_WRITE, remoteAddress, rkey, value, 0);
    }

    /** The same to the first 8 bytes of a remote memory. */
    public SendRequests atomicWrite(long workRequestId, RemoteMemory to, long value) {
        return atomicWrite(workRequestId, to.address(), to.rkey(), value);
    }

    /**
     * Begins a flush of a part of a peer's region (IBV_WR_FLUSH with IBV_FLUSH_RANGE); RC only, on a queue pair with
     * {@link Feature#FLUSH}. Its completion says that all writes posted before it to these bytes are placed as asked.
     * Without a flush, the completion of a write says only that the peer's device has the bytes. The region and the
     * peer's queue pair must permit the placement: {@link AccessFlag#FLUSH_GLOBAL}, {@link
     * AccessFlag#FLUSH_PERSISTENT}. The request has no buffers.
     *
     * @param length how many bytes to flush, at most {@value #MOST_FLUSHED}
     * @throws IllegalArgumentException if the length is out of range: flush parts, or {@link #flushRegion} all
     */
    public SendRequests flush(
            long workRequestId, long remoteAddress, long length, int rkey, FlushPlacement placement) {
        Ranges.require("length", length, 0, MOST_FLUSHED); // the driver of Soft-RoCE cuts a longer one to 32 bits
        return beginFlush(workRequestId, remoteAddress, length, rkey, placement, PlacementExtensions.IBV_FLUSH_RANGE);
    }

    /** The same for all bytes of a remote memory. */
    public SendRequests flush(long workRequestId, RemoteMemory part, FlushPlacement placement) {
        return flush(workRequestId, part.address(), part.length(), part.rkey(), placement);
    }

    /**
     * Begins a flush of the whole region or window of a key, whatever its length (IBV_WR_FLUSH with IBV_FLUSH_MR);
     * otherwise as {@link #flush(long, long, long, int, FlushPlacement)}.
     */
    public SendRequests flushRegion(long workRequestId, int rkey, FlushPlacement placement) {
        return beginFlush(workRequestId, 0, 0, rkey, placement, PlacementExtensions.IBV_FLUSH_MR);
    }

    private SendRequests beginFlush(
            long workRequestId, long remoteAddress, long length, int rkey, FlushPlacement placement, int level) {
        int type = placement.bit();
        hasMore = true;
        optional |= PlacementExtensions.IBV_QP_EX_WITH_FLUSH;
        beginAtomic(workRequestId, PlacementExtensions.IBV_WR_FLUSH, remoteAddress, rkey, length, 0);
        long request = request();
        Memory.putInt(request + PlacementExtensions.TYPE, type);
        Memory.putInt(request + PlacementExtensions.LEVEL, level);
        return this;
    }

    /** Begins the invalidation of a local key, for example of a type 2 window (IBV_WR_LOCAL_INV); RC and UC. */
    public SendRequests localInvalidate(long workRequestId, int rkey) {
        begin(workRequestId, IbvWrOpcode.IBV_WR_LOCAL_INV);
        requests.immediateOfLast(rkey);
        noteNamed();
        return this;
    }

    /**
     * Begins the bind of a type 2 window to a part of a region (IBV_WR_BIND_MW); RC and UC.
     *
     * @param rkey the new key of the window: {@link MemoryWindow#nextRkey} of its present key, or any with the same
     *     upper 24 bits
     * @param bound the part of the region; the region must allow {@link AccessFlag#MW_BIND}
     * @param access the rights of the peer, from {@link AccessFlag#mask(AccessFlag...)}
     * @throws IllegalArgumentException for a type 1 window, which {@link MemoryWindow#bind} binds instead
     */
    public SendRequests bind(long workRequestId, MemoryWindow window, int rkey, MemorySlice bound, int access) {
        if (window.type() == MemoryWindowType.TYPE_1) {
            throw new IllegalArgumentException(window.describe()
                    + " can't be bound by a work request: call its bind()");
        }
        long region = bound.region().handle(); // before the request begins: a null slice leaves the list as it is
        long request = requests.addSend(workRequestId, IbvWrOpcode.IBV_WR_BIND_MW);
        Memory.putLong(request + IbvSendWr.BIND_MW_MW, window.handle());
        Memory.putInt(request + IbvSendWr.BIND_MW_RKEY, rkey);
        Memory.putLong(request + IbvSendWr.BIND_MW_BIND_INFO_MR, region);
        Memory.putLong(request + IbvSendWr.BIND_MW_BIND_INFO_ADDR, bound.address());
        Memory.putLong(request + IbvSendWr.BIND_MW_BIND_INFO_LENGTH, bound.length());
        Memory.putInt(request + IbvSendWr.BIND_MW_BIND_INFO_MW_ACCESS_FLAGS, access);
        binds = true;
        noteNamed();
        use(window);
        use(bound.region());
        return this;
    }

    /** Adds a buffer to send or write. The device gathers the buffers of a request in order. */
    public SendRequests from(MemorySlice buffer) {
        own(buffer);
        return entry(buffer.address(), (int) buffer.length(), buffer.lkey());
    }

    /** Adds a buffer for the result of a read or an atomic. The device fills the buffers of a request in order. */
    public SendRequests into(MemorySlice buffer) {
        own(buffer);
        return entry(buffer.address(), (int) buffer.length(), buffer.lkey());
    }

    private void own(MemorySlice buffer) {
        Object owner = buffer.owner();
        if (owner == null || ownerCount > 0 && owners[ownerCount - 1] == owner) {
            return; // consecutive parts of one buffer need only one entry
        }
        hasMore = true;
        if (ownerCount == owners.length) {
            owners = Arrays.copyOf(owners, ownerCount * 2);
        }
        owners[ownerCount++] = owner;
    }

    /**
     * Returns the {@linkplain MemorySlice#owner owners} of the slices that {@link #from} and {@link #into} added, in
     * order. Slices without an owner are left out. An owner can be in the list several times, but not twice in a row.
     */
    public List<Object> owners() {
        return ownerCount == 0 ? List.of() : List.of(Arrays.copyOf(owners, ownerCount));
    }

    /** Adds a buffer by its address, length and key. Only the device checks them. */
    public SendRequests entry(long address, int length, int lkey) {
        request();
        requests.addEntry(address, length, lkey);
        return this;
    }

    /**
     * Adds bytes that the request carries inline (IBV_SEND_INLINE). The call copies them, so the caller can change the
     * source at once. Either all bytes of a request are inline or none. The limit is {@link
     * QueuePairCapabilities#maxInlineData} of the queue pair.
     */
    public SendRequests inline(MemorySegment bytes) {
        return inline(bytes, 0, bytes.byteSize());
    }

    private SendRequests inline(MemorySegment memory, long offset, long length) {
        request();
        hasMore = true;
        long copy = inlineArea.copy(memory, offset, length); // before the flag: without bytes it would send none
        flag(IbvSendFlags.IBV_SEND_INLINE);
        requests.addEntry(copy, (int) length, 0);
        return this;
    }

    /** Adds a part of a region that the request carries inline; see {@link #inline(MemorySegment)}. */
    public SendRequests inline(MemorySlice bytes) {
        return bytes.hasPart()
                ? inline(bytes.memory(), 0, bytes.length())
                : inline(bytes.region().memory(), bytes.offset(), bytes.length());
    }

    /** Adds the bytes of an array that the request carries inline; see {@link #inline(MemorySegment)}. */
    public SendRequests inline(byte[] bytes) {
        request();
        hasMore = true;
        long copy = inlineArea.copy(bytes);
        flag(IbvSendFlags.IBV_SEND_INLINE);
        requests.addEntry(copy, bytes.length, 0);
        return this;
    }

    /**
     * Sets the destination of a UD message, or of a request on a queue pair of a driver's own type ({@code
     * QueuePairType.DRIVER}).
     *
     * @param address the path to the receiver's port
     * @param queuePairNumber the number of the receiver's queue pair
     * @param qkey the Q_Key of the receiver; with the top bit set, the device sends the sender's own Q_Key (IBA volume
     *     1, section 10.2.5)
     */
    public SendRequests to(AddressHandle address, int queuePairNumber, int qkey) {
        to(address, queuePairNumber, Integer.toUnsignedLong(qkey));
        hasMore = true;
        if (addressed == size() - 1 && isSend(requests.lastOpcode())) {
            addressed++;
        }
        return this;
    }

    private static boolean isSend(int opcode) {
        return opcode == IbvWrOpcode.IBV_WR_SEND
                || opcode == IbvWrOpcode.IBV_WR_SEND_WITH_IMM
                || opcode == IbvWrOpcode.IBV_WR_SEND_WITH_INV
                || opcode == IbvWrOpcode.IBV_WR_TSO;
    }

    /**
     * Sets the destination of a request, whatever its operation, on a queue pair of a driver's own type ({@code
     * QueuePairType.DRIVER}), such as a DC initiator of mlx5 or an SRD queue pair of EFA. Other queue pairs ignore it.
     *
     * @param address the path to the receiver's port
     * @param number the receiver's number: of a DC target, or of a queue pair
     * @param key the key that the receiver was made with: the access key of a DC target, 64 bits, or a Q_Key
     * @throws IllegalStateException for a bind of a memory window, which goes nowhere
     */
    public SendRequests to(AddressHandle address, int number, long key) {
        long request = request();
        if (requests.lastOpcode() == IbvWrOpcode.IBV_WR_BIND_MW) {
            throw new IllegalStateException("a bind of a memory window goes to no peer: leave out its to()");
        }
        if (isSend(requests.lastOpcode())) { // other requests have the peer's memory in this place
            Memory.putLong(request + IbvSendWr.WR_UD_AH, address.handle());
            Memory.putInt(request + IbvSendWr.WR_UD_REMOTE_QPN, number);
            Memory.putInt(request + IbvSendWr.WR_UD_REMOTE_QKEY, (int) key);
        }
        // A segmented send has its header in this place, and no queue pair of a driver's type has such sends.
        if (requests.lastOpcode() != IbvWrOpcode.IBV_WR_TSO) {
            Memory.putLong(request + DriverAddress.AH, address.handle());
            Memory.putInt(request + DriverAddress.NUMBER, number);
            Memory.putLong(request + DriverAddress.KEY, key);
            hasMore = true;
            if (destined == size() - 1) {
                destined++;
            }
        }
        use(address);
        return this;
    }

    /** Returns the index of the first request without {@link #to(AddressHandle, int, long) a destination}, or -1. */
    int firstWithoutDestination() {
        return destined == size() ? -1 : destined;
    }

    /**
     * Names the peer's shared receive queue for a request over XRC, whatever its operation: a message takes a receive
     * of that queue, and a write, a read or an atomic reaches the memory of that queue's protection domain.
     *
     * @param number the {@linkplain SharedReceiveQueue#number number} of the queue, 24 bits
     */
    public SendRequests toSharedReceiveQueue(int number) {
        Ranges.require("number", number, 0, 0xffffff);
        Memory.putInt(request() + IbvSendWr.QP_TYPE_XRC_REMOTE_SRQN, number);
        noteNamed();
        return this;
    }

    /**
     * Makes the request complete with a completion if it succeeds (IBV_SEND_SIGNALED). A failure always makes a
     * completion.
     */
    public SendRequests signaled() {
        return flag(IbvSendFlags.IBV_SEND_SIGNALED);
    }

    /**
     * Raises an event at a peer that armed its completion queue for solicited messages (IBV_SEND_SOLICITED). For
     * messages and writes with immediate.
     */
    public SendRequests solicited() {
        return flag(IbvSendFlags.IBV_SEND_SOLICITED);
    }

    /** Starts the request only after all earlier reads and atomics have finished (IBV_SEND_FENCE); RC only. */
    public SendRequests fence() {
        return flag(IbvSendFlags.IBV_SEND_FENCE);
    }

    /** Sets {@code enum ibv_send_flags} bits that have no method here. */
    public SendRequests flag(int bits) {
        request();
        requests.flagLast(bits);
        return this;
    }

    private void use(Resource resource) {
        Objects.requireNonNull(resource);
        hasMore = true;
        if (usedCount > 0 && used[usedCount - 1] == resource) {
            return; // consecutive messages to one address need only one entry
        }
        if (usedCount == used.length) {
            used = Arrays.copyOf(used, usedCount * 2);
        }
        used[usedCount++] = resource;
    }
}
