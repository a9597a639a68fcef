package org.kverbs.internal;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicInteger;
import org.kverbs.internal.abi.IbvSendFlags;
import org.kverbs.internal.abi.IbvSendWr;
import org.kverbs.internal.abi.IbvSge;
import org.kverbs.internal.memory.Memory;

/**
 * Native memory for a linked list of work requests and their scatter and gather entries. It allocates only when it
 * grows. The garbage collector frees it.
 *
 * <p>For one thread at a time. Send and receive requests differ in their size and in the offsets of their links.
 */
public final class WorkRequestArena {

    /** From an {@code org.kverbs.SendRequests} to the memory that it writes. */
    public static final Door<WorkRequestArena> DOOR = new Door<>();

    /** Spreads the first stamps of the arenas evenly over all numbers: 2^32 divided by the golden ratio. */
    private static final int STRIDE = 0x9e37_79b9;

    private static final AtomicInteger ARENAS = new AtomicInteger();

    private final int requestSize;
    private final int nextOffset;
    private final int sgListOffset;
    private final int numSgeOffset;
    private MemorySegment requests;
    private MemorySegment entries;
    // The addresses and capacities of both, cached for each request.
    private long firstRequest;
    private int capacity;
    private long firstEntry;
    private int entryCapacity;
    private int count;
    private int entryCount;
    /** The address of the last request. */
    private long last;
    /**
     * A number for the requests since the last {@link #clear}. The next clear adds one, and each arena begins with
     * another number, so that hardly ever two lists have the same one.
     */
    private int stamp = ARENAS.getAndIncrement() * STRIDE;

    /**
     * Makes an empty list.
     *
     * @param requestSize the size of a work request, in bytes
     * @param nextOffset the offset of the link to the next request
     * @param sgListOffset the offset of the pointer to the entries
     * @param numSgeOffset the offset of the number of entries
     * @param capacity how many requests and entries have room before the list grows
     */
    public WorkRequestArena(int requestSize, int nextOffset, int sgListOffset, int numSgeOffset, int capacity) {
        this.requestSize = requestSize;
        this.nextOffset = nextOffset;
        this.sgListOffset = sgListOffset;
        this.numSgeOffset = numSgeOffset;
        this.requests = allocate(capacity, requestSize);
        this.entries = allocate(capacity, IbvSge.SIZE);
        noteMemory();
    }

    private void noteMemory() {
        firstRequest = requests.address();
        capacity = (int) (requests.byteSize() / requestSize);
        firstEntry = entries.address();
        entryCapacity = (int) (entries.byteSize() / IbvSge.SIZE);
    }

    private static MemorySegment allocate(long count, int size) {
        return Arena.ofAuto().allocate(count * size, JAVA_LONG.byteAlignment());
    }

    /** Removes all requests and keeps the memory. */
    public void clear() {
        count = 0;
        entryCount = 0;
        stamp++;
    }

    /** Returns the number of requests. */
    public int count() {
        return count;
    }

    /** Returns the address of the first request. */
    public long first() {
        return firstRequest;
    }

    /** Returns the address of a request. */
    public long at(int index) {
        return firstRequest + (long) index * requestSize;
    }

    /**
     * Returns the index of the request at an address, by which the C library names a refused request; 0 if no request
     * has that address.
     */
    public int indexOf(long address) {
        long index = (address - firstRequest) / requestSize;
        return 0 <= index && index < count ? (int) index : 0; // a driver that lacks an operation names no request
    }

    /**
     * Adds a request without entries after the last one and returns its address. Its other fields keep the values of an
     * earlier use.
     */
    public long add() {
        if (count == capacity) {
            growRequests();
        }
        long address = firstRequest + (long) count * requestSize;
        Memory.putLong(address + nextOffset, 0);
        Memory.putLong(address + sgListOffset, firstEntry + (long) entryCount * IbvSge.SIZE);
        Memory.putInt(address + numSgeOffset, 0);
        if (count > 0) {
            Memory.putLong(address - requestSize + nextOffset, address);
        }
        count++;
        last = address;
        return address;
    }

    /** Adds an entry to the last request. */
    public void addEntry(long address, int length, int lkey) {
        if (entryCount == entryCapacity) {
            growEntries();
        }
        long entry = firstEntry + (long) entryCount * IbvSge.SIZE;
        Memory.putLong(entry + IbvSge.ADDR, address);
        Memory.putInt(entry + IbvSge.LENGTH, length);
        Memory.putInt(entry + IbvSge.LKEY, lkey);
        entryCount++;
        Memory.putInt(last + numSgeOffset, Memory.getInt(last + numSgeOffset) + 1);
    }

    /** Returns the ticket of the last request, by which {@link #flag} finds it until the next {@link #clear}. */
    public long lastTicket() {
        return (long) stamp << 32 | (count - 1);
    }

    /** Makes the success of a send request a completion (IBV_SEND_SIGNALED); see {@link #flag}. */
    public void signal(long ticket) {
        flag(ticket, IbvSendFlags.IBV_SEND_SIGNALED);
    }

    /** Makes a send request a solicited message (IBV_SEND_SOLICITED); see {@link #flag}. */
    public void solicit(long ticket) {
        flag(ticket, IbvSendFlags.IBV_SEND_SOLICITED);
    }

    /** Makes a send request wait for the reads and atomics before it (IBV_SEND_FENCE); see {@link #flag}. */
    public void fence(long ticket) {
        flag(ticket, IbvSendFlags.IBV_SEND_FENCE);
    }

    /** Throws an IllegalStateException if the ticket is of another list, or the list was cleared since. */
    private void flag(long ticket, int bit) {
        long flags = at(indexOfTicket(ticket)) + IbvSendWr.SEND_FLAGS;
        Memory.putInt(flags, Memory.getInt(flags) | bit);
    }

    /**
     * Refuses a ticket that is not of the last request.
     *
     * @throws IllegalStateException if another request was added since; otherwise as {@link #flag}
     */
    public void requireLast(long ticket) {
        if (indexOfTicket(ticket) != count - 1) {
            throw new IllegalStateException(
                    "and() adds a buffer to the last request only, and another request was begun after this one");
        }
    }

    private int indexOfTicket(long ticket) {
        int index = (int) ticket;
        if ((int) (ticket >>> 32) != stamp || index >= count) {
            throw new IllegalStateException(
                    "this request is not of this post: change a request only inside the block that has made it");
        }
        return index;
    }

    private void growRequests() {
        requests = grown(requests);
        noteMemory();
        for (int i = 0; i + 1 < count; i++) {
            requests.set(JAVA_LONG, (long) i * requestSize + nextOffset, requests.address() + (i + 1L) * requestSize);
        }
    }

    private void growEntries() {
        long old = entries.address();
        entries = grown(entries);
        noteMemory();
        for (int i = 0; i < count; i++) {
            long field = (long) i * requestSize + sgListOffset;
            requests.set(JAVA_LONG, field, requests.get(JAVA_LONG, field) - old + entries.address());
        }
    }

    private static MemorySegment grown(MemorySegment full) {
        MemorySegment larger = Arena.ofAuto().allocate(full.byteSize() * 2, JAVA_LONG.byteAlignment());
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
            Memory.putLong(at(i) + IbvSendWr.WR_ID, upper | Integer.toUnsignedLong(first + i));
        }
    }
}
