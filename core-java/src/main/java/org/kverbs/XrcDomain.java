package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.Feature;
import org.kverbs.attributes.QueuePairType;
import org.kverbs.attributes.SharedReceiveQueueAttributes;
import org.kverbs.internal.Lifetime;
import org.kverbs.internal.Lifetime.Ending;
import org.kverbs.internal.Lifetime.Turn;
import org.kverbs.internal.abi.IbvQpInitAttrEx;
import org.kverbs.internal.abi.IbvQpInitAttrMask;
import org.kverbs.internal.abi.IbvQpOpenAttr;
import org.kverbs.internal.abi.IbvQpOpenAttrMask;
import org.kverbs.internal.values.Ranges;

/**
 * An XRC domain ({@code struct ibv_xrcd}): it joins the receiving queue pairs and the shared receive queues of extended
 * reliable connections. A message that comes to any {@linkplain #queuePair receiving queue pair} of the domain can name
 * any {@linkplain ProtectionDomain#sharedReceiveQueue(SharedReceiveQueueAttributes, XrcDomain, CompletionQueue) shared
 * receive queue} of the domain. So a sender needs one connection to a machine, and reaches each process there.
 *
 * <pre>{@code
 * XrcDomain domain = context.xrcDomain();
 * SharedReceiveQueue srq = pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(64, 1), domain, cq);
 * XrcReceiveQueuePair receiver = domain.queuePair();                    // the peer connects an XRC_SEND queue pair
 * receiver.connect(sender);                                             // the endpoint of that queue pair
 * tell(receiver.endpoint(), srq.number());
 * }</pre>
 *
 * <p>Processes that open the same file share a domain; with an embedded device the contexts of one process do. Safe for
 * any thread. Source: {@code man 3 ibv_open_xrcd}.
 */
public final class XrcDomain extends Resource {

    private final Context context;
    private final @Nullable Path file;
    private final long handle;

    XrcDomain(Context context, @Nullable Path file, long handle) {
        super(new Lifetime(Turn.FOUNDATIONS, context.lifetime));
        this.context = context;
        this.file = file;
        this.handle = handle;
        lifetime.begin(this, Ending.of(this::describe, this::destroy));
    }

    /** Returns the open device that this domain belongs to. */
    public Context context() {
        return context;
    }

    /** Returns the file by which others open the same domain; null for a domain that nobody shares. */
    public @Nullable Path file() {
        return file;
    }

    long handle() {
        return handle;
    }

    @Override
    protected long nativeAddress() {
        return context.nativeAddress(handle);
    }

    /**
     * Makes an XRC_RECV queue pair in state RESET ({@code ibv_create_qp_ex}).
     *
     * @throws UnsupportedVerbException if the device has no XRC
     * @throws RdmaSystemException if the device refuses
     */
    public XrcReceiveQueuePair queuePair() {
        String operation = "ibv_create_qp_ex(" + context.device().name() + ", XRC_RECV)";
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment init = arena.allocate(IbvQpInitAttrEx.SIZE, JAVA_LONG.byteAlignment());
            init.set(JAVA_INT, IbvQpInitAttrEx.QP_TYPE, QueuePairType.XRC_RECV.code());
            init.set(JAVA_INT, IbvQpInitAttrEx.COMP_MASK, IbvQpInitAttrMask.IBV_QP_INIT_ATTR_XRCD);
            init.set(JAVA_LONG, IbvQpInitAttrEx.XRCD, handle);
            return create(
                    errno -> context.refusal(Feature.XRC, operation, errno),
                    () -> context.verbs.createQueuePairEx(init),
                    h -> new XrcReceiveQueuePair(this, h),
                    this);
        }
    }

    /**
     * Opens an XRC_RECV queue pair that this domain already has, made by this process or another ({@code ibv_open_qp}).
     * The queue pair exists until all that made or opened it have closed it; its asynchronous events go to each.
     *
     * @param number the number of the queue pair, 24 bits
     * @throws RdmaSystemException EINVAL if the domain has no such queue pair
     */
    public XrcReceiveQueuePair openQueuePair(int number) {
        Ranges.require("number", number, 0, 0xffffff);
        String operation = "ibv_open_qp(" + context.device().name() + ", qp_num=" + number + ")";
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attributes = arena.allocate(IbvQpOpenAttr.SIZE, JAVA_LONG.byteAlignment());
            attributes.set(
                    JAVA_INT,
                    IbvQpOpenAttr.COMP_MASK,
                    IbvQpOpenAttrMask.IBV_QP_OPEN_ATTR_NUM
                            | IbvQpOpenAttrMask.IBV_QP_OPEN_ATTR_XRCD
                            | IbvQpOpenAttrMask.IBV_QP_OPEN_ATTR_TYPE);
            attributes.set(JAVA_INT, IbvQpOpenAttr.QP_NUM, number);
            attributes.set(JAVA_LONG, IbvQpOpenAttr.XRCD, handle);
            attributes.set(JAVA_INT, IbvQpOpenAttr.QP_TYPE, QueuePairType.XRC_RECV.code());
            return create(
                    errno -> context.refusal(Feature.XRC, operation, errno),
                    () -> context.verbs.xrc().openQueuePair(attributes),
                    h -> new XrcReceiveQueuePair(this, h),
                    this);
        }
    }

    private void destroy() {
        SystemErrors.check("ibv_close_xrcd(" + describe() + ")", context.verbs.xrc().closeDomain(handle));
    }

    @Override
    public String describe() {
        return "XRC domain " + (file == null ? "" : file + " ") + "on " + context.device().name();
    }
}
