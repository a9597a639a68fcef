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
 * A window ({@code struct ibv_mw}): a key for part of a region that can be given and taken back on the data path,
 * without registering anew. A type 1 window is bound by {@link #bind}; a type 2 window by {@link SendRequests#bind},
 * and ended by a local invalidate or by the peer's send with invalidate.
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

    /** The domain it belongs to. */
    public ProtectionDomain protectionDomain() {
        return pd;
    }

    /** Type 1 or 2. */
    public MemoryWindowType type() {
        return type;
    }

    long handle() {
        return handle;
    }

    /**
     * Its key now: that of the last bind that was posted. For a type 2 window the basis of the next: see
     * {@link #nextRkey}.
     */
    public int rkey() {
        lifetime.enter();
        try {
            return Memory.at(handle, IbvMw.SIZE).get(JAVA_INT, IbvMw.RKEY);
        } finally {
            lifetime.exit();
        }
    }

    /** The key with its low 8 bits, which belong to the user, counted up ({@code ibv_inc_rkey}). */
    public static int nextRkey(int rkey) {
        return (rkey & 0xffffff00) | ((rkey + 1) & 0xff);
    }

    /**
     * Binds a type 1 window to part of a region by the queue pair's send queue ({@code ibv_bind_mw}). Length 0 ends the
     * binding. The window has its new key when this returns, and admits the peer once the completion is there.
     *
     * @param queuePair a queue pair in state RTS of this domain
     * @param workRequestId what the completion names; the request is signaled
     * @param region it must allow {@link AccessFlag#MW_BIND}
     * @param offset bytes from the region's start
     * @param length bytes
     * @param access what the peer may do
     * @throws WorkRequestException if it is refused: EINVAL for a type 2 window, ENOMEM if the send queue is full
     */
    public void bind(
            QueuePair queuePair, long workRequestId, MemoryRegion region, long offset, long length,
            AccessFlag... access) {
        Ranges.requirePart("the memory region", offset, length, region.length());
        Lifetime.enterAll(lifetime, queuePair.lifetime, region.lifetime);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment bind = arena.allocate(IbvMwBind.SIZE, JAVA_LONG.byteAlignment());
            bind.set(JAVA_LONG, IbvMwBind.WR_ID, workRequestId);
            bind.set(JAVA_INT, IbvMwBind.SEND_FLAGS, IbvSendFlags.IBV_SEND_SIGNALED);
            bind.set(JAVA_LONG, IbvMwBind.BIND_INFO_MR, region.handle());
            bind.set(JAVA_LONG, IbvMwBind.BIND_INFO_ADDR, region.requestAddress() + offset);
            bind.set(JAVA_LONG, IbvMwBind.BIND_INFO_LENGTH, length);
            bind.set(JAVA_INT, IbvMwBind.BIND_INFO_MW_ACCESS_FLAGS, AccessFlag.mask(access));
            // Drivers take any type: the check is in the C interface's inline function.
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

    /** What a peer needs to use the window, once it is bound to these bytes under this key. */
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
