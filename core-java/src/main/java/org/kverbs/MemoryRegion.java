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
import org.kverbs.internal.values.Ranges;

/**
 * Off-heap memory that a device can read and write ({@code struct ibv_mr}). Until the region is closed its pages stay
 * pinned and its memory stays reachable.
 *
 * <p>Some regions are not memory that the program gave: {@link ProtectionDomain#nullRegion} has no memory, {@link
 * ProtectionDomain#implicitRegion} is the whole address space, regions of {@link DeviceMemory} and of dma-bufs are
 * memory of a device, and an {@link ProtectionDomain#importRegion imported region} is memory of another context.
 * {@link #hasMemory} is false for these, and their {@link #memory} throws.
 *
 * <p>Safe for any thread. The content of the memory is not: from the posting of a work request to its completion its
 * bytes belong to the device. Source: {@code man 3 ibv_reg_mr}.
 */
public final class MemoryRegion extends Resource {

    private volatile ProtectionDomain pd;
    private final long handle;
    private final RegionKind kind;
    private final @Nullable Arena owned;
    /** Empty if the region has no memory of this process. */
    private volatile MemorySegment memory;
    private volatile long length;
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
        this(pd, handle, RegionKind.PROGRAM, memory, memory.byteSize(), requestAddress, access, owned,
                new Lifetime(Turn.MEMORY, pd.lifetime));
    }

    /** Makes a region that is not memory of the program. {@code lifetime} has its parents. */
    MemoryRegion(
            ProtectionDomain pd, long handle, RegionKind kind, long length, long requestAddress, int access,
            Lifetime lifetime) {
        this(pd, handle, kind, MemorySegment.NULL, length, requestAddress, access, null, lifetime);
    }

    private MemoryRegion(
            ProtectionDomain pd, long handle, RegionKind kind, MemorySegment memory, long length, long requestAddress,
            int access, @Nullable Arena owned, Lifetime lifetime) {
        super(lifetime);
        this.pd = pd;
        this.handle = handle;
        this.kind = kind;
        this.memory = memory;
        this.length = length;
        this.requestAddress = requestAddress;
        this.access = access;
        this.owned = owned;
        this.lkey = Memory.getInt(handle + IbvMr.LKEY);
        this.rkey = Memory.getInt(handle + IbvMr.RKEY);
        this.lifetime.begin(this, Ending.of(this::describe, this::destroy));
    }

    /** Returns the protection domain that this region is registered in. */
    public ProtectionDomain protectionDomain() {
        return pd;
    }

    long handle() {
        return handle;
    }

    /**
     * Returns the kernel's number of this region. A context that was imported from this one finds it by the number: see
     * {@link ProtectionDomain#importRegion}.
     *
     * @throws IllegalStateException if the region is closed
     */
    public int kernelHandle() {
        lifetime.enter();
        try {
            return Memory.getInt(handle + IbvMr.HANDLE);
        } finally {
            lifetime.exit();
        }
    }

    @Override
    protected long nativeAddress() {
        return pd.context().nativeAddress(handle);
    }

    /** Returns whether the bytes of the region are memory of this process that {@link #memory} returns. */
    public boolean hasMemory() {
        return kind == RegionKind.PROGRAM;
    }

    /**
     * Returns the memory, to read and write.
     *
     * @throws IllegalStateException if the region is closed
     * @throws UnsupportedOperationException if {@link #hasMemory} is false
     */
    public MemorySegment memory() {
        requireOpen();
        if (!hasMemory()) {
            throw new UnsupportedOperationException(
                    "the " + describe() + " gives no memory to read and write: " + kind.reason);
        }
        return memory;
    }

    /**
     * Returns the address of the first byte in this process; 0 if {@link #hasMemory} is false. Work requests of both
     * sides use it too, unless the region was registered at another address or with {@link AccessFlag#ZERO_BASED}.
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

    /** Returns the number of bytes; {@link Long#MAX_VALUE} for a null region and for an implicit one. */
    public long length() {
        return length;
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
     * @throws UnsupportedOperationException for a null region, which has no such key
     */
    public int rkey() {
        requireOpen();
        if (kind == RegionKind.NULL) {
            throw new UnsupportedOperationException(
                    "the " + describe() + " has no rkey: only work requests of this side can use it");
        }
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
        return access == 0 ? EnumSet.noneOf(AccessFlag.class) : EnumSet.copyOf(AccessFlag.of(access));
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

    /**
     * Returns the slice that is a part of this region's memory. In an implicit region the part is any off-heap memory.
     * The slice keeps it reachable: keep the slice until the completions of its requests.
     *
     * @throws IndexOutOfBoundsException if the part reaches beyond the region's memory
     * @throws IllegalArgumentException if the part is on the Java heap or read-only
     * @throws UnsupportedOperationException if the region is neither implicit nor memory of this process
     */
    public MemorySlice slice(MemorySegment part) {
        long offset = offsetOf(part);
        return new MemorySlice(this, offset, part.byteSize(), null, kind == RegionKind.IMPLICIT ? part : null);
    }

    /**
     * Returns the address, the length and the rkey of a part of this region's memory, for a peer that reads or writes
     * it. In an implicit region the part is any off-heap memory: keep it reachable as long as peers use it.
     *
     * @throws IndexOutOfBoundsException as {@link #slice(MemorySegment)}, and so the other exceptions
     */
    public RemoteMemory remote(MemorySegment part) {
        long offset = offsetOf(part);
        return new RemoteMemory(requestAddress + offset, part.byteSize(), rkey());
    }

    /** Returns the offset of a part from the start of the region. */
    private long offsetOf(MemorySegment part) {
        requireRegistrable(part);
        if (kind != RegionKind.IMPLICIT) {
            MemorySegment whole = memory();
            long offset = part.address() - whole.address();
            Ranges.requirePart("the memory region", offset, part.byteSize(), whole.byteSize());
            return offset;
        }
        lifetime.enter();
        try {
            pd.context().verbs.optionalMemory().willUse(handle, part);
        } finally {
            lifetime.exit();
        }
        return part.address();
    }

    /** Returns the address, the length and the rkey of the region, for a peer that reads or writes it. */
    public RemoteMemory remote() {
        return new RemoteMemory(requestAddress, length(), rkey());
    }

    /**
     * Changes the rights of the device and of peers ({@code ibv_rereg_mr}, IBV_REREG_MR_CHANGE_ACCESS). The keys can
     * change.
     *
     * @throws UnsupportedOperationException if {@link #hasMemory} is false
     * @throws RdmaSystemException EOPNOTSUPP if the device cannot reregister (Soft-RoCE of Linux 6.1, soft-iWARP).
     *     After another error the state of the region is unknown: close it
     */
    public void reregister(AccessFlag... newAccess) {
        requireReregistrable();
        int mask = AccessFlag.mask(newAccess);
        AccessFlags.requireConsistent(mask);
        synchronized (moving) {
            reregister(IbvReregMrFlags.IBV_REREG_MR_CHANGE_ACCESS, pd, memory, mask);
            access = mask;
        }
    }

    /**
     * Moves the region to other memory of the caller ({@code ibv_rereg_mr}, IBV_REREG_MR_CHANGE_TRANSLATION). The keys
     * can change. A region that owns its memory cannot move. A slice that another thread makes meanwhile can have the
     * old address and the new key: make slices when the call has returned.
     *
     * @throws IllegalArgumentException if the region owns its memory
     * @throws UnsupportedOperationException if {@link #hasMemory} is false
     * @throws RdmaSystemException as {@link #reregister(AccessFlag...)}
     */
    public void reregister(MemorySegment newMemory) {
        requireReregistrable();
        if (owned != null) {
            throw new IllegalArgumentException(
                    describe() + " owns its memory; register memory of your own to move a region later");
        }
        requireRegistrable(newMemory);
        synchronized (moving) {
            movedTo = newMemory;
            reregister(IbvReregMrFlags.IBV_REREG_MR_CHANGE_TRANSLATION, pd, newMemory, access);
            memory = newMemory;
            length = newMemory.byteSize();
            requestAddress = requestAddress(newMemory, access);
        }
    }

    /**
     * Moves the region to another protection domain of the same open device ({@code ibv_rereg_mr},
     * IBV_REREG_MR_CHANGE_PD). Queue pairs of the former domain can no longer use it. The keys can change, so make
     * slices again. The region is then closed with the new domain, and the former one can be closed before it.
     *
     * @throws IllegalArgumentException if the domain is of another open device
     * @throws IllegalStateException if the region, its domain or the new domain is closed
     * @throws UnsupportedOperationException if {@link #hasMemory} is false
     * @throws RdmaSystemException as {@link #reregister(AccessFlag...)}; EBUSY if memory windows are bound to it
     */
    public void reregister(ProtectionDomain newDomain) {
        requireReregistrable();
        if (newDomain.context() != pd.context()) {
            throw new IllegalArgumentException(newDomain.describe() + " belongs to another open device than the "
                    + describe() + "; take a domain of the same context");
        }
        synchronized (moving) {
            Lifetime[] domains = {pd.lifetime, newDomain.lifetime};
            Lifetime.enterAll(domains); // neither can be closed between the call and the move
            try {
                command(operation(IbvReregMrFlags.IBV_REREG_MR_CHANGE_PD, memory, access), () -> {
                    int result = rereg(IbvReregMrFlags.IBV_REREG_MR_CHANGE_PD, newDomain, memory, access);
                    if (result >= 0 && newDomain != pd) {
                        lifetime.moveTo(newDomain.lifetime);
                        pd = newDomain;
                    }
                    return result;
                });
            } finally {
                Lifetime.exitAll(domains);
            }
        }
    }

    private void requireReregistrable() {
        if (!hasMemory()) {
            throw new UnsupportedOperationException(
                    "the " + describe() + " can't be reregistered: close it, and make another");
        }
    }

    private void reregister(int flags, ProtectionDomain domain, MemorySegment target, int mask) {
        command(operation(flags, target, mask), () -> rereg(flags, domain, target, mask));
    }

    private String operation(int flags, MemorySegment target, int mask) {
        return "ibv_rereg_mr(%s, flags=%d, addr=0x%x, length=%d, access=%s)"
                .formatted(pd.context().device().name(), flags, target.address(), target.byteSize(),
                        AccessFlag.of(mask));
    }

    private int rereg(int flags, ProtectionDomain domain, MemorySegment target, int mask) {
        try {
            return domain.context().verbs.reregisterMemory(handle, flags, domain.handle(), target, mask);
        } finally {
            noteKeys(); // a failed call can have changed them too
        }
    }

    private void destroy() {
        if (kind == RegionKind.IMPORTED) {
            pd.context().verbs.imports().unimportMemory(handle);
        } else if (!deregistered) { // freeing the memory below can fail, so this can be the second attempt
            SystemErrors.check("ibv_dereg_mr(" + describe() + ")", pd.context().verbs.deregisterMemory(handle));
            deregistered = true;
        }
        if (owned != null) {
            owned.close();
        }
    }

    @Override
    public String describe() {
        String size = length == Long.MAX_VALUE ? "" : " of " + length + " bytes";
        return kind.noun + size + " on " + pd.context().device().name();
    }
}
