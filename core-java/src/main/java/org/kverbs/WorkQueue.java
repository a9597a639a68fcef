package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.kverbs.attributes.Feature;
import org.kverbs.attributes.WorkQueueFlag;
import org.kverbs.attributes.WorkQueueState;
import org.kverbs.internal.Lifetime;
import org.kverbs.internal.Lifetime.Ending;
import org.kverbs.internal.Lifetime.Turn;
import org.kverbs.internal.abi.IbvWq;
import org.kverbs.internal.abi.IbvWqAttr;
import org.kverbs.internal.abi.IbvWqAttrMask;
import org.kverbs.internal.abi.IbvWqInitAttr;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.WorkQueueVerbs;

/**
 * A queue of receive requests with a completion queue, and without a queue pair of its own ({@code struct ibv_wq}).
 * {@link ProtectionDomain#workQueue} makes it in state RESET. Queue pairs with a {@link ReceiveIndirectionTable} spread
 * what they receive over the work queues of the table.
 *
 * <p>Closing a work queue closes the tables that have it, and their queue pairs, first.
 *
 * <p>Safe for any thread. One thread at a time posts receives; others wait. Source: {@code man 3 ibv_create_wq}, {@code
 * ibv_modify_wq}, {@code ibv_post_wq_recv}.
 */
public final class WorkQueue extends Resource {

    private final ProtectionDomain pd;
    private final WorkQueueVerbs verbs;
    private final WorkQueueAttributes made;
    private final long handle;
    private final int number;
    private final ReceivePoster poster;

    private WorkQueue(ProtectionDomain pd, WorkQueueAttributes made, long handle) {
        super(new Lifetime(Turn.USERS, pd.lifetime, made.cq().lifetime));
        this.pd = pd;
        this.verbs = pd.context().verbs.workQueues();
        this.made = made;
        this.handle = handle;
        this.number = Memory.at(handle, IbvWq.SIZE).get(JAVA_INT, IbvWq.WQ_NUM);
        this.poster = new ReceivePoster(
                this, "ibv_post_wq_recv", verbs.workQueueOps(handle), made.maxWr(), made.maxSge());
        pd.context().events.add(handle, this);
        lifetime.begin(this, Ending.of(this::describe, this::destroy).quiescing(poster::close));
    }

    /** Makes a work queue; the caller has checked that the completion queue is of the same context. */
    static WorkQueue make(ProtectionDomain pd, WorkQueueAttributes attributes) {
        Context context = pd.context();
        String operation = "ibv_create_wq(" + context.device().name() + ", " + attributes + ")";
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment init = arena.allocate(IbvWqInitAttr.SIZE, JAVA_LONG.byteAlignment());
            attributes.writeTo(init, pd.handle());
            return create(
                    errno -> refusal(context, operation, errno),
                    () -> context.verbs.workQueues().createWorkQueue(init),
                    h -> new WorkQueue(pd, attributes.given(init), h),
                    pd,
                    attributes.cq());
        }
    }

    /**
     * Makes the exception for a refused call on work queues or tables: an {@link UnsupportedVerbException} if the
     * device has none, otherwise one with the device's reason, such as a flag that it does not have.
     */
    static RdmaSystemException refusal(Context context, String operation, int errno) {
        return context.verbs.has(Feature.WORK_QUEUES.verb())
                        && ContextQueries.offers(context, Feature.WORK_QUEUES, errno)
                ? SystemErrors.of(operation, errno)
                : context.refusal(Feature.WORK_QUEUES, operation, errno);
    }

    /** Returns the protection domain that this queue belongs to. */
    public ProtectionDomain protectionDomain() {
        return pd;
    }

    /** Returns the completion queue of the receives. */
    public CompletionQueue cq() {
        return made.cq();
    }

    /** Returns the number that the device gave this queue ({@code wq_num}). */
    public int number() {
        return number;
    }

    /** Returns the parameters of the queue, with the sizes that the device gave. */
    public WorkQueueAttributes attributes() {
        return made;
    }

    long handle() {
        return handle;
    }

    @Override
    protected long nativeAddress() {
        return pd.context().nativeAddress(handle);
    }

    /**
     * Returns the state. libibverbs keeps it: after the event WQ_FATAL of a device of libibverbs it is still the state
     * of before.
     */
    public WorkQueueState state() {
        int code = command("state of " + describe(), () -> Memory.getInt(handle + IbvWq.STATE));
        return WorkQueueState.of(code);
    }

    /**
     * Moves the queue to a state ({@code ibv_modify_wq}). From RESET it goes to RDY, from RDY to ERR, and from each to
     * RESET. In RESET the posted receives are forgotten; in ERR they complete with a flush error.
     *
     * @throws RdmaSystemException if the device refuses: EINVAL for another step
     */
    public void modify(WorkQueueState state) {
        modify(state.toString(), IbvWqAttrMask.IBV_WQ_ATTR_STATE, state.code(), 0, 0);
    }

    /**
     * Sets or ends one flag of the queue ({@code ibv_modify_wq}). Drivers know only {@link
     * WorkQueueFlag#CVLAN_STRIPPING} here, and some only in state RDY.
     *
     * @throws RdmaSystemException if the device refuses: EOPNOTSUPP or EINVAL for another flag
     */
    public void modify(WorkQueueFlag flag, boolean on) {
        modify(flag + "=" + on, IbvWqAttrMask.IBV_WQ_ATTR_FLAGS, 0, on ? flag.bit() : 0, flag.bit());
    }

    private void modify(String what, int mask, int state, int flags, int flagsMask) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attributes = arena.allocate(IbvWqAttr.SIZE, JAVA_INT.byteAlignment());
            attributes.set(JAVA_INT, IbvWqAttr.ATTR_MASK, mask);
            attributes.set(JAVA_INT, IbvWqAttr.WQ_STATE, state);
            attributes.set(JAVA_INT, IbvWqAttr.FLAGS, flags);
            attributes.set(JAVA_INT, IbvWqAttr.FLAGS_MASK, flagsMask);
            command("ibv_modify_wq(" + describe() + ", " + what + ")", () -> verbs.modifyWorkQueue(handle, attributes));
        }
    }

    /**
     * Posts one receive request ({@code ibv_post_wq_recv}). Allocates nothing.
     *
     * @param workRequestId the id that the completion carries
     * @param buffer receives a frame
     * @throws WorkRequestException ENOMEM if the queue is full; EINVAL in state RESET, on a device that checks it
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

    private void destroy() {
        SystemErrors.check("ibv_destroy_wq(" + describe() + ")", verbs.destroyWorkQueue(handle));
        pd.context().events.remove(handle, this); // a new queue can already have the address
    }

    @Override
    public String describe() {
        return "work queue " + number + " on " + pd.context().device().name();
    }
}
