package org.kverbs.internal;


import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import java.util.concurrent.atomic.AtomicInteger;
import org.kverbs.internal.abi.IbvSendFlags;
import org.kverbs.internal.abi.IbvSendWr;
import org.kverbs.internal.abi.IbvSge;
import org.kverbs.internal.memory.Memory;

/**
 * Native memory for a linked list of work requests and their scatter and gather entries. It allocates only when it
 * grows. The garbage collector frees it.
 *
 * <p>For one thread at a time. Send and receive requests differ in their size. Both begin with {@code wr_id}, {@code
 * next}, {@code sg_list} and {@code num_sge}, and a send request continues with {@code opcode}, {@code send_flags} and
 * {@code imm_data}.
 *
 * <p>Each request is linked to the next one when the memory is allocated, and only the last one of a list is cut off
 * for the post. The JIT inlines each access to memory as hundreds of nodes, and gives up a method with too many. So a
 * request takes few accesses, and neighbouring fields are written at once. Stores are what a list costs: nothing of a
 * request is also kept in a field here, and a link to entries that is right already is not written again.
 */
public final class WorkRequestArena {

    /** From an {@code org.kverbs.SendRequests} to the memory that it writes. */
    public static final Door<WorkRequestArena> DOOR = new Door<>();

    /** Spreads the first stamps of the arenas evenly over all numbers: 2^32 divided by the golden ratio. */
    private static final int STRIDE = 0x9e37_79b9;

    private static final AtomicInteger ARENAS = new AtomicInteger();

    private static final boolean LOW_FIRST = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;
    private static final int CACHE_LINE = 64;
    private static final int WR_ID = IbvSendWr.WR_ID;
    private static final int NEXT = IbvSendWr.NEXT;
    private static final int SG_LIST = IbvSendWr.SG_LIST;
    private static final int NUM_SGE = IbvSendWr.NUM_SGE;

    private final int requestSize;
    private final int sizeBits;
    private MemorySegment requests;
    private MemorySegment entries;
    // The places of the first and the next of both, and the ends of their memory.
    private long firstRequest;
    private long nextRequest;
    private long endOfRequests;
    private long firstEntry;
    private long nextEntry;
    private long endOfEntries;
    /** True if the last request links to none; otherwise it links to the unused one behind it. */
    private boolean isCut;
    /**
     * A number for the requests since the last {@link #clear}. The next clear adds one, and each arena begins with
     * another number, so that hardly ever two lists have the same one.
     */
    private int stamp = ARENAS.getAndIncrement() * STRIDE;

    /**
     * Makes an empty list.
     *
     * @param requestSize the size of a work request, in bytes, a power of two
     * @param capacity how many requests and entries have room before the list grows
     */
    public WorkRequestArena(int requestSize, int capacity) {
        this.requestSize = requestSize;
        this.sizeBits = Integer.numberOfTrailingZeros(requestSize);
        this.requests = allocate(capacity + 1, requestSize); // one to write to where a list has no last request
        this.entries = allocate(capacity, IbvSge.SIZE);
        placeRequests(0);
        placeEntries(0);
    }

    /** Notes where the requests are, and links each to the one behind it. */
    private void placeRequests(long used) {
        firstRequest = requests.address() + requestSize;
        nextRequest = firstRequest + used;
        endOfRequests = requests.address() + requests.byteSize();
        for (long request = firstRequest; request < endOfRequests; request += requestSize) {
            link(request);
        }
        isCut = false;
    }

    private void placeEntries(long used) {
        firstEntry = entries.address();
        nextEntry = firstEntry + used;
        endOfEntries = firstEntry + entries.byteSize();
    }

    private static MemorySegment allocate(long count, int size) {
        return Arena.ofAuto().allocate(count * size, CACHE_LINE);
    }

    /** Removes all requests and keeps the memory. */
    public void clear() {
        if (isCut) {
            join();
        }
        nextRequest = firstRequest;
        nextEntry = firstEntry;
        stamp++;
    }

    /** Returns the number of requests. */
    public int count() {
        return (int) (nextRequest - firstRequest >> sizeBits);
    }

    /** Returns whether the list has no request. */
    public boolean isEmpty() {
        return nextRequest == firstRequest;
    }

    /** Completes the list for a post: cuts it off behind the last request. Returns the address of the first one. */
    public long first() {
        if (!isCut) {
            Memory.putLong(last() + NEXT, 0);
            isCut = true;
        }
        return firstRequest;
    }

    /** Undoes the cut of {@link #first}. */
    private void join() {
        link(last());
        isCut = false;
    }

    /** Links a request to the one behind it. Behind the end of the memory there is none, and nobody follows. */
    private void link(long request) {
        Memory.putLong(request + NEXT, request + requestSize);
    }

    /** Returns the address of the last request. There must be one. */
    public long last() {
        return Memory.known(nextRequest - requestSize);
    }

    /** Returns the address of a request. */
    public long at(int index) {
        return Memory.known(firstRequest + (long) index * requestSize);
    }

    /**
     * Returns the index of the request at an address, by which the C library names a refused request; 0 if no request
     * has that address.
     */
    public int indexOf(long address) {
        long index = (address - firstRequest) / requestSize;
        return 0 <= index && index < count() ? (int) index : 0; // a driver that lacks an operation names no request
    }

    /**
     * Adds a receive request without entries after the last one. Its other fields keep the values of an earlier use.
     */
    public void addReceive(long workRequestId) {
        add(workRequestId, 0); // a receive request has unused bytes in the place of the opcode
    }

    /**
     * Adds a send request without entries, flags and immediate data after the last one and returns its address. Its
     * other fields keep the values of an earlier use.
     */
    public long addSend(long workRequestId, int opcode) {
        long address = add(workRequestId, opcode);
        Memory.putLong(address + IbvSendWr.SEND_FLAGS, 0); // imm_data too: rxe refuses a bind that has something there
        return address;
    }

    private long add(long workRequestId, int opcode) {
        if (nextRequest == endOfRequests || isCut) {
            prepare();
        }
        long address = Memory.known(nextRequest);
        Memory.putLong(address + WR_ID, workRequestId);
        if (Memory.getLong(address + SG_LIST) != nextEntry) {
            Memory.putLong(address + SG_LIST, nextEntry);
        }
        Memory.putLong(address + NUM_SGE, pair(0, opcode));
        nextRequest = address + requestSize;
        return address;
    }

    /** Makes room for one more request, and links the last one to it. */
    private void prepare() {
        if (isCut) {
            join();
        }
        if (nextRequest == endOfRequests) {
            growRequests();
        }
    }

    /** Adds an entry to the last request. */
    public void addEntry(long address, int length, int lkey) {
        if (nextEntry == endOfEntries) {
            growEntries();
        }
        long entry = Memory.known(nextEntry);
        Memory.putLong(entry + IbvSge.ADDR, address);
        Memory.putLong(entry + IbvSge.LENGTH, pair(length, lkey));
        nextEntry = entry + IbvSge.SIZE;
        long count = last() + NUM_SGE;
        Memory.putInt(count, Memory.getInt(count) + 1);
    }

    /** Returns the 8 bytes that have one number in the first 4 and another in the last. */
    static long pair(int first, int second) {
        return LOW_FIRST
                ? Integer.toUnsignedLong(first) | (long) second << Integer.SIZE
                : (long) first << Integer.SIZE | Integer.toUnsignedLong(second);
    }

    /** Returns the opcode of the last request, which is a send request. */
    public int lastOpcode() {
        return Memory.getInt(last() + IbvSendWr.OPCODE);
    }

    /** Sets flags of the last request, which is a send request. */
    public void flagLast(int bits) {
        flag(last(), bits);
    }

    private static void flag(long request, int bits) {
        long flags = request + IbvSendWr.SEND_FLAGS;
        Memory.putInt(flags, Memory.getInt(flags) | bits);
    }

    /**
     * Sets what stands in the place of the immediate data of the last request, which is a send request.
     *
     * @param value as it stands in memory
     */
    public void immediateOfLast(int value) {
        Memory.putInt(last() + IbvSendWr.IMM_DATA, value);
    }

    /** Returns the ticket of the last request, by which {@link #flagBy} finds it until the next {@link #clear}. */
    public long lastTicket() {
        return (long) stamp << 32 | (count() - 1);
    }

    /** Makes the success of a send request a completion (IBV_SEND_SIGNALED); see {@link #flagBy}. */
    public void signal(long ticket) {
        flagBy(ticket, IbvSendFlags.IBV_SEND_SIGNALED);
    }

    /** Makes a send request a solicited message (IBV_SEND_SOLICITED); see {@link #flagBy}. */
    public void solicit(long ticket) {
        flagBy(ticket, IbvSendFlags.IBV_SEND_SOLICITED);
    }

    /** Makes a send request wait for the reads and atomics before it (IBV_SEND_FENCE); see {@link #flagBy}. */
    public void fence(long ticket) {
        flagBy(ticket, IbvSendFlags.IBV_SEND_FENCE);
    }

    /** Throws an IllegalStateException if the ticket is of another list, or the list was cleared since. */
    private void flagBy(long ticket, int bit) {
        flag(at(indexOfTicket(ticket)), bit);
    }

    /**
     * Refuses a ticket that is not of the last request.
     *
     * @throws IllegalStateException if another request was added since; otherwise as {@link #flagBy}
     */
    public void requireLast(long ticket) {
        if (indexOfTicket(ticket) != count() - 1) {
            throw new IllegalStateException(
                    "and() adds a buffer to the last request only, and another request was begun after this one");
        }
    }

    private int indexOfTicket(long ticket) {
        int index = (int) ticket;
        if ((int) (ticket >>> 32) != stamp || index >= count()) {
            throw new IllegalStateException(
                    "this request is not of this post: change a request only inside the block that has made it");
        }
        return index;
    }

    private void growRequests() {
        long used = nextRequest - firstRequest;
        requests = grown(requests);
        placeRequests(used);
    }

    private void growEntries() {
        long used = entries.byteSize();
        long old = firstEntry;
        entries = grown(entries);
        placeEntries(used);
        for (long field = firstRequest + SG_LIST; field < nextRequest; field += requestSize) {
            Memory.putLong(field, Memory.getLong(field) - old + firstEntry);
        }
    }

    private static MemorySegment grown(MemorySegment full) {
        MemorySegment larger = Arena.ofAuto().allocate(full.byteSize() * 2, CACHE_LINE);
        larger.copyFrom(full);
        return larger;
    }

    /**
     * Gives the send requests ids in place of those they were begun with: {@code high} in the upper 32 bits, and {@code
     * first}, {@code first + 1} and so on, which may overflow, in the lower.
     */
    public void renumber(int high, int first) {
        long upper = (long) high << 32;
        for (int i = 0; i < count(); i++) {
            Memory.putLong(at(i) + WR_ID, upper | Integer.toUnsignedLong(first + i));
        }
    }
}
