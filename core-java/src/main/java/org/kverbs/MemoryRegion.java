package org.kverbs;

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
 * Off-heap memory that a device can read and write ({@code struct ibv_mr}). Until the region is closed its pages stay
 * pinned and its memory stays reachable.
 *
 * <p>Safe for any thread. The content of the memory is not: from the posting of a work request to its completion its
 * bytes belong to the device. Source: {@code man 3 ibv_reg_mr}.
 */
public final class MemoryRegion extends Resource {

    private final ProtectionDomain pd;
    private final long handle;
    private final @Nullable Arena owned;
    private volatile MemorySegment memory;
    /**
     * The target of the last move. After a failed move the device can use the old or the new memory, so both stay
     * reachable.
     */
    @SuppressWarnings("unused")
    private volatile @Nullable MemorySegment movedTo;
    private volatile long requestAddress;
    private volatile int access;
    // Copies of the native object's keys: a slice needs no entry into the guard for its key.
    private volatile int lkey;
    private volatile int rkey;
    private boolean deregistered;
    /** Held by a reregistration, so that of two the address, the rights and the keys come from the same one. */
    private final Object moving = new Object();

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
        this.lkey = Memory.getInt(handle + IbvMr.LKEY);
        this.rkey = Memory.getInt(handle + IbvMr.RKEY);
        lifetime.begin(this, Ending.of(this::describe, this::destroy));
    }

    /** Returns the protection domain that this region is registered in. */
    public ProtectionDomain protectionDomain() {
        return pd;
    }

    long handle() {
        return handle;
    }

    @Override
    protected long nativeAddress() {
        return pd.context().nativeAddress(handle);
    }

    /**
     * Returns the memory, to read and write.
     *
     * @throws IllegalStateException if the region is closed
     */
    public MemorySegment memory() {
        requireOpen();
        return memory;
    }

    /**
     * Returns the address of the first byte in this process. Work requests of both sides use it too, unless the region
     * was registered at another address or with {@link AccessFlag#ZERO_BASED}.
     */
    public long address() {
        return memory.address();
    }

    /** Returns the address of the first byte in work requests of both sides ({@code man 3 ibv_reg_mr}: iova). */
    long requestAddress() {
        return requestAddress;
    }

    /** Returns the address of a region's first byte in work requests if the caller chooses none. */
    static long requestAddress(MemorySegment memory, int access) {
        return (access & AccessFlag.ZERO_BASED.bit()) == 0 ? memory.address() : 0;
    }

    /** Refuses memory that no device can use. */
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

    /** Returns the number of bytes. */
    public long length() {
        return memory.byteSize();
    }

    /**
     * Returns the key for scatter and gather entries of this side ({@code lkey}).
     *
     * @throws IllegalStateException if the region is closed
     */
    public int lkey() {
        requireOpen();
        return lkey;
    }

    /**
     * Returns the key that gives a peer access to the region ({@code rkey}).
     *
     * @throws IllegalStateException if the region is closed
     */
    public int rkey() {
        requireOpen();
        return rkey;
    }

    /** Copies the keys of the native object. The caller is inside the guard and holds {@link #moving}. */
    private void noteKeys() {
        lkey = Memory.getInt(handle + IbvMr.LKEY);
        rkey = Memory.getInt(handle + IbvMr.RKEY);
    }

    private void requireOpen() {
        if (!isOpen()) {
            throw closed();
        }
    }

    /** Returns the rights of the device and of peers. */
    public Set<AccessFlag> access() {
        return EnumSet.copyOf(AccessFlag.of(access));
    }

    /**
     * Returns the whole region as one scatter and gather entry. A region of 4 GiB or more does not fit into one entry
     * and is refused.
     */
    public MemorySlice slice() {
        return slice(0, length());
    }

    /**
     * Returns a part of the region as one scatter and gather entry.
     *
     * @param offset the first byte, counted from the start of the region
     * @param length the number of bytes, at most 2^32 - 1
     * @throws IndexOutOfBoundsException if the part reaches beyond the region
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

    /** Returns the address, the length and the rkey of the region, for a peer that reads or writes it. */
    public RemoteMemory remote() {
        return new RemoteMemory(requestAddress, length(), rkey());
    }

    /**
     * Changes the rights of the device and of peers ({@code ibv_rereg_mr}, IBV_REREG_MR_CHANGE_ACCESS). The keys can
     * change.
     *
     * @throws RdmaSystemException EOPNOTSUPP if the device cannot reregister (Soft-RoCE of Linux 6.1, soft-iWARP).
     *     After another error the state of the region is unknown: close it
     */
    public void reregister(AccessFlag... newAccess) {
        int mask = AccessFlag.mask(newAccess);
        AccessFlags.requireConsistent(mask);
        synchronized (moving) {
            reregister(IbvReregMrFlags.IBV_REREG_MR_CHANGE_ACCESS, memory, mask);
            access = mask;
        }
    }

    /**
     * Moves the region to other memory of the caller ({@code ibv_rereg_mr}, IBV_REREG_MR_CHANGE_TRANSLATION). The keys
     * can change. A region that owns its memory cannot move. A slice that another thread makes meanwhile can have the
     * old address and the new key: make slices when the call has returned.
     *
     * @throws IllegalArgumentException if the region owns its memory
     * @throws RdmaSystemException as {@link #reregister(AccessFlag...)}
     */
    public void reregister(MemorySegment newMemory) {
        if (owned != null) {
            throw new IllegalArgumentException(
                    describe() + " owns its memory; register memory of your own to move a region later");
        }
        requireRegistrable(newMemory);
        synchronized (moving) {
            movedTo = newMemory;
            reregister(IbvReregMrFlags.IBV_REREG_MR_CHANGE_TRANSLATION, newMemory, access);
            memory = newMemory;
            requestAddress = requestAddress(newMemory, access);
        }
    }

    private void reregister(int flags, MemorySegment target, int mask) {
        String operation = "ibv_rereg_mr(%s, flags=%d, addr=0x%x, length=%d, access=%s)"
                .formatted(pd.context().device().name(), flags, target.address(), target.byteSize(),
                        AccessFlag.of(mask));
        command(operation, () -> {
            try {
                return pd.context().verbs.reregisterMemory(handle, flags, pd.handle(), target, mask);
            } finally {
                noteKeys(); // a failed call can have changed them too
            }
        });
    }

    private void destroy() {
        if (!deregistered) { // freeing the memory below can fail, so this can be the second attempt
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
