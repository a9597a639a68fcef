package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.kverbs.attributes.AccessFlag;
import org.kverbs.attributes.MemoryWindowType;
import org.kverbs.internal.Lifetime;
import org.kverbs.internal.Lifetime.Ending;
import org.kverbs.internal.Lifetime.Turn;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvMw;
import org.kverbs.internal.abi.IbvMwBind;
import org.kverbs.internal.abi.IbvSendFlags;
import org.kverbs.internal.memory.Memory;
import org.kverbs.internal.values.Ranges;

/**
 * A memory window ({@code struct ibv_mw}): a key for a part of a region. A program grants and revokes it on the data
 * path, without registering memory again. {@link #bind} binds a type 1 window. {@link SendRequests#bind} binds a type 2
 * window; a local invalidate or the peer's send with invalidate ends that binding.
 *
 * <p>Safe for any thread. Source: {@code man 3 ibv_alloc_mw}, {@code ibv_bind_mw}; IBA vol 1, 10.6.7.
 */
public final class MemoryWindow extends Resource {

    private final ProtectionDomain pd;
    private final MemoryWindowType type;
    private final long handle;

    MemoryWindow(ProtectionDomain pd, MemoryWindowType type, long handle) {
        super(new Lifetime(Turn.USERS, pd.lifetime));
        this.pd = pd;
        this.type = type;
        this.handle = handle;
        lifetime.begin(this, Ending.of(this::describe, this::destroy));
    }

    /** Returns the protection domain that this window belongs to. */
    public ProtectionDomain protectionDomain() {
        return pd;
    }

    /** Returns whether the window is of type 1 or 2. */
    public MemoryWindowType type() {
        return type;
    }

    long handle() {
        return handle;
    }

    @Override
    protected long nativeAddress() {
        return pd.context().nativeAddress(handle);
    }

    /**
     * Returns the key of the last bind that was posted. The next key of a type 2 window is derived from it: see {@link
     * #nextRkey}.
     */
    public int rkey() {
        lifetime.enter();
        try {
            return Memory.at(handle, IbvMw.SIZE).get(JAVA_INT, IbvMw.RKEY);
        } finally {
            lifetime.exit();
        }
    }

    /** Returns a key with its low 8 bits, which belong to the program, counted up by one ({@code ibv_inc_rkey}). */
    public static int nextRkey(int rkey) {
        return (rkey & 0xffffff00) | ((rkey + 1) & 0xff);
    }

    /**
     * Binds a type 1 window to a part of a region through the send queue of a queue pair ({@code ibv_bind_mw}). Length
     * 0 ends the binding. The window has its new key when this call returns. The peer may use the window after the
     * completion.
     *
     * @param queuePair a queue pair of this protection domain, in state RTS
     * @param workRequestId the id that the completion carries; the request is signaled
     * @param region a region that allows {@link AccessFlag#MW_BIND}
     * @param offset the first byte, counted from the start of the region
     * @param length the number of bytes
     * @param access the rights of the peer
     * @throws IllegalArgumentException if the queue pair or the region belongs to another protection domain
     * @throws WorkRequestException if the device refuses the bind: EINVAL for a type 2 window, ENOMEM if the send queue
     *     is full
     */
    public void bind(
            QueuePair queuePair, long workRequestId, MemoryRegion region, long offset, long length,
            AccessFlag... access) {
        Ranges.requirePart("the memory region", offset, length, region.length());
        requireSameDomain(queuePair, queuePair.protectionDomain());
        requireSameDomain(region, region.protectionDomain());
        Lifetime.enterAll(lifetime, queuePair.lifetime, region.lifetime);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment bind = arena.allocate(IbvMwBind.SIZE, JAVA_LONG.byteAlignment());
            bind.set(JAVA_LONG, IbvMwBind.WR_ID, workRequestId);
            bind.set(JAVA_INT, IbvMwBind.SEND_FLAGS, IbvSendFlags.IBV_SEND_SIGNALED);
            bind.set(JAVA_LONG, IbvMwBind.BIND_INFO_MR, region.handle());
            bind.set(JAVA_LONG, IbvMwBind.BIND_INFO_ADDR, region.requestAddress() + offset);
            bind.set(JAVA_LONG, IbvMwBind.BIND_INFO_LENGTH, length);
            bind.set(JAVA_INT, IbvMwBind.BIND_INFO_MW_ACCESS_FLAGS, AccessFlag.mask(access));
            // Drivers take any type. In C an inline function of verbs.h checks it.
            int result = type == MemoryWindowType.TYPE_1
                    ? pd.context().verbs.bindMemoryWindow(queuePair.handle(), handle, bind)
                    : -Errno.EINVAL;
            if (result < 0) {
                throw SystemErrors.workRequest("ibv_bind_mw(" + describe() + ")", -result, 0, 1);
            }
        } finally {
            Lifetime.exitAll(lifetime, queuePair.lifetime, region.lifetime);
        }
    }

    private void requireSameDomain(Resource part, ProtectionDomain domain) {
        if (!domain.sharesMemoryWith(pd)) {
            throw new IllegalArgumentException("the " + part.describe() + " belongs to another protection domain than"
                    + " the " + describe() + "; make both in the same domain");
        }
    }

    /**
     * Returns the address, the length and the key of a window that is bound to {@code bound}, for a peer that uses it.
     */
    public RemoteMemory remote(MemorySlice bound, int rkey) {
        return new RemoteMemory(bound.address(), bound.length(), rkey);
    }

    private void destroy() {
        SystemErrors.check("ibv_dealloc_mw(" + describe() + ")", pd.context().verbs.deallocMemoryWindow(handle));
    }

    @Override
    public String describe() {
        return "memory window (" + type + ") on " + pd.context().device().name();
    }
}
