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
 * pairs that were made with it. A queue of XRC serves the messages that name it: see {@link XrcDomain}. A queue with
 * tag matching serves its queue pairs, too, and gives a message to the buffer of its tag: see {@link TagList}.
 *
 * <p>Safe for any thread. Source: {@code man 3 ibv_create_srq}, {@code ibv_create_srq_ex}.
 */
public final class SharedReceiveQueue extends Resource {

    private final ProtectionDomain pd;
    private final long handle;
    private final SharedReceiveQueueAttributes made;
    private final ReceivePoster poster;
    private final @Nullable Special special;
    private final @Nullable TagList tags;

    /** What a queue of XRC, or one with tag matching, has besides. The second has no domain. */
    record Special(@Nullable XrcDomain domain, CompletionQueue cq) {

        Lifetime[] madeFrom(ProtectionDomain pd) {
            return domain == null
                    ? new Lifetime[] {pd.lifetime, cq.lifetime}
                    : new Lifetime[] {pd.lifetime, domain.lifetime, cq.lifetime};
        }
    }

    SharedReceiveQueue(
            ProtectionDomain pd, SharedReceiveQueueAttributes made, long handle, @Nullable Special special) {
        super(new Lifetime(Turn.USERS, special == null ? new Lifetime[] {pd.lifetime} : special.madeFrom(pd)));
        this.special = special;
        this.pd = pd;
        this.made = made;
        this.handle = handle;
        this.tags = special != null && special.domain == null ? new TagList(this, pd.context().verbs.tags()) : null;
        ReceiveOps ops = pd.context().verbs.sharedReceiveQueueOps(handle);
        this.poster = new ReceivePoster(this, "ibv_post_srq_recv", ops, made.maxWr(), made.maxSge());
        pd.context().events.add(handle, this);
        lifetime.begin(this, Ending.of(this::describe, this::destroy).quiescing(this::quiesce));
    }

    /** Returns the protection domain that this queue belongs to. */
    public ProtectionDomain protectionDomain() {
        return pd;
    }

    /** Returns the XRC domain of this queue; null for any other queue. */
    public @Nullable XrcDomain xrcDomain() {
        return special == null ? null : special.domain;
    }

    /**
     * Returns the completion queue of the receives of an XRC queue, or of one with tag matching; null for a basic
     * queue, which has none.
     */
    public @Nullable CompletionQueue cq() {
        return special == null ? null : special.cq;
    }

    /** Returns the tagged buffers of a queue with tag matching; null for any other queue. */
    public @Nullable TagList tags() {
        return tags;
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
                    () -> pd.context().limits.excess((excess, limits) -> excess
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
        pd.context().events.remove(handle, this); // a new queue can already have the address
    }

    @Override
    public String describe() {
        String kind = special == null ? "" : tags == null ? " of XRC" : " with tag matching";
        return "shared receive queue" + kind + " on " + pd.context().device().name();
    }
}
