package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.Feature;
import org.kverbs.attributes.SharedReceiveQueueAttributes;
import org.kverbs.internal.Lifetime;
import org.kverbs.internal.Lifetime.Ending;
import org.kverbs.internal.Lifetime.Turn;
import org.kverbs.internal.Structures;
import org.kverbs.internal.abi.IbvSrqAttr;
import org.kverbs.internal.abi.IbvSrqAttrMask;
import org.kverbs.spi.ReceiveOps;

/**
 * A queue of receive requests that several queue pairs share ({@code struct ibv_srq}). A basic queue serves the queue
 * pairs that were made with it. A queue of XRC serves the messages that name it: see {@link XrcDomain}.
 *
 * <p>Safe for any thread. Source: {@code man 3 ibv_create_srq}, {@code ibv_create_srq_ex}.
 */
public final class SharedReceiveQueue extends Resource {

    private final ProtectionDomain pd;
    private final long handle;
    private final SharedReceiveQueueAttributes made;
    private final ReceivePoster poster;
    private final @Nullable Xrc xrc;

    /** What a queue of XRC has besides. */
    record Xrc(XrcDomain domain, CompletionQueue cq) {}

    SharedReceiveQueue(
            ProtectionDomain pd, SharedReceiveQueueAttributes made, long handle, @Nullable Xrc xrc) {
        super(
                xrc == null
                        ? new Lifetime(Turn.USERS, pd.lifetime)
                        : new Lifetime(Turn.USERS, pd.lifetime, xrc.domain.lifetime, xrc.cq.lifetime));
        this.xrc = xrc;
        this.pd = pd;
        this.made = made;
        this.handle = handle;
        ReceiveOps ops = pd.context().verbs.sharedReceiveQueueOps(handle);
        this.poster = new ReceivePoster(this, "ibv_post_srq_recv", ops, made.maxWr(), made.maxSge());
        pd.context().eventSources.put(handle, this);
        lifetime.begin(this, Ending.of(this::describe, this::destroy).quiescing(this::quiesce));
    }

    /** Returns the protection domain that this queue belongs to. */
    public ProtectionDomain protectionDomain() {
        return pd;
    }

    /** Returns the XRC domain of this queue; null for a basic queue. */
    public @Nullable XrcDomain xrcDomain() {
        return xrc == null ? null : xrc.domain;
    }

    /** Returns the completion queue of the receives of an XRC queue; null for a basic queue, which has none. */
    public @Nullable CompletionQueue cq() {
        return xrc == null ? null : xrc.cq;
    }

    /**
     * Queries the number by which messages of extended reliable connections name this queue, 24 bits ({@code
     * ibv_get_srq_num}): see {@link SendRequests#toSharedReceiveQueue}.
     *
     * @throws UnsupportedVerbException for a basic queue, unless the device numbers all its queues
     */
    public int number() {
        String operation = "ibv_get_srq_num(" + describe() + ")";
        return command(
                errno -> pd.context().refusal(Feature.XRC, operation, errno),
                () -> pd.context().verbs.xrc().sharedReceiveQueueNumber(handle));
    }

    long handle() {
        return handle;
    }

    @Override
    protected long nativeAddress() {
        return pd.context().nativeAddress(handle);
    }

    /** Returns the sizes that the device gave at creation: at least those that were asked for. */
    public SharedReceiveQueueAttributes attributes() {
        return made;
    }

    /** Queries the sizes and the limit ({@code ibv_query_srq}). The limit is 0 after its event. */
    public SharedReceiveQueueAttributes query() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attributes = arena.allocate(IbvSrqAttr.SIZE, JAVA_INT.byteAlignment());
            command(
                    "ibv_query_srq(" + describe() + ")",
                    () -> pd.context().verbs.querySharedReceiveQueue(handle, attributes));
            return Structures.SHARED_RECEIVE_QUEUE.read(attributes);
        }
    }

    /**
     * Sets the limit ({@code ibv_modify_srq}, IBV_SRQ_LIMIT). When fewer receives are left than this, the device raises
     * SRQ_LIMIT_REACHED once.
     */
    public void limit(int limit) {
        modify(new SharedReceiveQueueAttributes(made.maxWr(), made.maxSge(), limit), IbvSrqAttrMask.IBV_SRQ_LIMIT);
    }

    /**
     * Changes the number of requests that this queue has room for ({@code ibv_modify_srq}, IBV_SRQ_MAX_WR).
     *
     * @throws RdmaSystemException if the device cannot resize the queue
     */
    public void resize(int maxWr) {
        modify(new SharedReceiveQueueAttributes(maxWr, made.maxSge(), 0), IbvSrqAttrMask.IBV_SRQ_MAX_WR);
    }

    private void modify(SharedReceiveQueueAttributes wanted, int mask) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attributes = arena.allocate(IbvSrqAttr.SIZE, JAVA_INT.byteAlignment());
            Structures.SHARED_RECEIVE_QUEUE.write(wanted, attributes);
            command(
                    "ibv_modify_srq(" + describe() + ", " + wanted + ", mask=" + mask + ")",
                    () -> pd.context().excess((excess, limits) -> excess
                            .of("max_wr", wanted.maxWr(), "max_srq_wr", limits.maxSrqWr())),
                    () -> pd.context().verbs.modifySharedReceiveQueue(handle, attributes, mask));
        }
    }

    /**
     * Posts one receive request ({@code ibv_post_srq_recv}). Allocates nothing.
     *
     * @throws WorkRequestException ENOMEM if the queue is full
     */
    public void postReceive(long workRequestId, MemorySlice buffer) {
        poster.post(workRequestId, buffer);
    }

    /**
     * Posts a list of receive requests in one call.
     *
     * @throws WorkRequestException if the device refuses a request; the exception has its index, and the requests
     *     before it are posted
     */
    public void postReceive(ReceiveRequests requests) {
        poster.post(requests);
    }

    private void quiesce() {
        poster.close();
    }

    private void destroy() {
        SystemErrors.check("ibv_destroy_srq(" + describe() + ")", pd.context().verbs.destroySharedReceiveQueue(handle));
        pd.context().eventSources.remove(handle, this); // a new queue can already have the address
    }

    @Override
    public String describe() {
        return (xrc == null ? "shared receive queue on " : "shared receive queue of XRC on ")
                + pd.context().device().name();
    }
}
