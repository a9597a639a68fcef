package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.AccessFlag;
import org.kverbs.internal.Lifetime;
import org.kverbs.internal.Lifetime.Ending;
import org.kverbs.internal.Lifetime.Turn;
import org.kverbs.internal.abi.IbvMr;
import org.kverbs.internal.abi.IbvReregMrFlags;
import org.kverbs.internal.memory.Memory;

/**
 * Off-heap memory that a device may read and write ({@code struct ibv_mr}). Its pages stay pinned, and the memory stays
 * reachable, until it is closed.
 *
 * <p>Safe for any thread; what is in the memory isn't: from the posting of a work request to its completion the bytes
 * belong to the device. Source: {@code man 3 ibv_reg_mr}.
 */
public final class MemoryRegion extends Resource {

    private final ProtectionDomain pd;
    private final long handle;
    private final @Nullable Arena owned;
    private volatile MemorySegment memory;
    /** Where the region was last to be moved: after a failure the device may have either, so both stay reachable. */
    @SuppressWarnings("unused")
    private volatile @Nullable MemorySegment movedTo;
    private volatile long requestAddress;
    private volatile int access;
    private boolean deregistered;

    MemoryRegion(
            ProtectionDomain pd, long handle, MemorySegment memory, long requestAddress, int access,
            @Nullable Arena owned) {
        super(new Lifetime(Turn.MEMORY, pd.lifetime));
        this.pd = pd;
        this.handle = handle;
        this.memory = memory;
        this.requestAddress = requestAddress;
        this.access = access;
        this.owned = owned;
        lifetime.begin(this, Ending.of(this::describe, this::destroy));
    }

    /** The domain it was registered in. */
    public ProtectionDomain protectionDomain() {
        return pd;
    }

    long handle() {
        return handle;
    }

    /**
     * The memory itself, to read and write.
     *
     * @throws IllegalStateException if the region is closed
     */
    public MemorySegment memory() {
        if (!isOpen()) {
            throw closed();
        }
        return memory;
    }

    /**
     * The address of its first byte in this process. Work requests of both sides use it, too, unless it was registered
     * at another.
     */
    public long address() {
        return memory.address();
    }

    /** The address of its first byte in work requests of both sides ({@code man 3 ibv_reg_mr}: iova). */
    long requestAddress() {
        return requestAddress;
    }

    /** What a region begins with in work requests if its maker does not say it. */
    static long requestAddress(MemorySegment memory, int access) {
        return (access & AccessFlag.ZERO_BASED.bit()) == 0 ? memory.address() : 0;
    }

    /** Refuses what no device can be given. */
    static void requireRegistrable(MemorySegment memory) {
        if (!memory.isNative()) {
            throw new IllegalArgumentException(
                    "memory on the Java heap can't be registered, the garbage collector moves it; use a direct buffer "
                            + "or an Arena's memory");
        }
        if (memory.isReadOnly()) {
            throw new IllegalArgumentException("a read-only segment can't be registered; give the writable one");
        }
        if (!memory.scope().isAlive()) {
            throw new IllegalStateException(
                    "memory of a closed arena can't be registered; close the arena after the region");
        }
    }

    /** How many bytes. */
    public long length() {
        return memory.byteSize();
    }

    /** The key for scatter and gather entries of this side ({@code lkey}). */
    public int lkey() {
        return key(IbvMr.LKEY);
    }

    /** The key that lets a remote side reach it ({@code rkey}). */
    public int rkey() {
        return key(IbvMr.RKEY);
    }

    private int key(int offset) {
        lifetime.enter();
        try {
            return Memory.at(handle, IbvMr.SIZE).get(JAVA_INT, offset);
        } finally {
            lifetime.exit();
        }
    }

    /** What the device may do with it. */
    public Set<AccessFlag> access() {
        return EnumSet.copyOf(AccessFlag.of(access));
    }

    /** All of it as one scatter and gather entry; refused beyond 4 GiB, the limit of the ABI for one entry. */
    public MemorySlice slice() {
        return slice(0, length());
    }

    /**
     * A part of it as one scatter and gather entry.
     *
     * @param offset bytes from the start
     * @param length bytes, at most 2^32 - 1
     * @throws IndexOutOfBoundsException if it reaches beyond the region
     */
    public MemorySlice slice(long offset, long length) {
        return slice(offset, length, null);
    }

    /**
     * The same with an owner, which a library that posts the slice finds in {@link MemorySlice#owner} and
     * {@link SendRequests#owners}: a pool that lends parts of a region so learns which of them are in use. Nothing in
     * this package looks at it.
     */
    public MemorySlice slice(long offset, long length, @Nullable Object owner) {
        return new MemorySlice(this, offset, length, owner);
    }

    /** What a peer needs to read or write it: address, length and rkey. */
    public RemoteMemory remote() {
        return new RemoteMemory(requestAddress, length(), rkey());
    }

    /**
     * Changes what the device may do with it ({@code ibv_rereg_mr}, IBV_REREG_MR_CHANGE_ACCESS). The keys may change.
     *
     * @throws RdmaSystemException EOPNOTSUPP where the device can't (Soft-RoCE of Linux 6.1, soft-iWARP); after another
     *     error the state of the region is unknown, so close it
     */
    public void reregister(AccessFlag... newAccess) {
        int mask = AccessFlag.mask(newAccess);
        AccessFlags.requireConsistent(mask);
        reregister(IbvReregMrFlags.IBV_REREG_MR_CHANGE_ACCESS, memory, mask);
        access = mask;
    }

    /**
     * Moves it to other memory of the caller's ({@code ibv_rereg_mr}, IBV_REREG_MR_CHANGE_TRANSLATION). The keys may
     * change. Not for memory that the region owns.
     *
     * @throws RdmaSystemException as {@link #reregister(AccessFlag...)}
     */
    public void reregister(MemorySegment newMemory) {
        if (owned != null) {
            throw new IllegalArgumentException(
                    describe() + " owns its memory; register memory of your own to move a region later");
        }
        requireRegistrable(newMemory);
        movedTo = newMemory;
        reregister(IbvReregMrFlags.IBV_REREG_MR_CHANGE_TRANSLATION, newMemory, access);
        memory = newMemory;
        requestAddress = requestAddress(newMemory, access);
    }

    private void reregister(int flags, MemorySegment target, int mask) {
        String operation = "ibv_rereg_mr(%s, flags=%d, addr=0x%x, length=%d, access=%s)"
                .formatted(pd.context().device().name(), flags, target.address(), target.byteSize(),
                        AccessFlag.of(mask));
        command(
                operation,
                () -> pd.context()
                        .verbs
                        .reregisterMemory(handle, flags, pd.handle(), target, mask));
    }

    private void destroy() {
        if (!deregistered) { // freeing the memory may fail below, so this may be the second try
            SystemErrors.check("ibv_dereg_mr(" + describe() + ")", pd.context().verbs.deregisterMemory(handle));
            deregistered = true;
        }
        if (owned != null) {
            owned.close();
        }
    }

    @Override
    public String describe() {
        return "memory region of " + length() + " bytes on " + pd.context().device().name();
    }
}
