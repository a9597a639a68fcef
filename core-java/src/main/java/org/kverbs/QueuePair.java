package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.ConnectOptions;
import org.kverbs.attributes.Gid;
import org.kverbs.attributes.QueuePairAttribute;
import org.kverbs.attributes.QueuePairAttributes;
import org.kverbs.attributes.QueuePairCapabilities;
import org.kverbs.attributes.QueuePairEndpoint;
import org.kverbs.attributes.QueuePairState;
import org.kverbs.attributes.QueuePairType;
import org.kverbs.attributes.TransportType;
import org.kverbs.internal.Lifetime;
import org.kverbs.internal.Lifetime.Ending;
import org.kverbs.internal.Lifetime.Turn;
import org.kverbs.internal.Posting;
import org.kverbs.internal.Structures;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvGid;
import org.kverbs.internal.abi.IbvQp;
import org.kverbs.internal.abi.IbvQpAttr;
import org.kverbs.internal.abi.IbvQpAttrMask;
import org.kverbs.internal.abi.IbvQpInitAttr;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.QueuePairOps;
import org.kverbs.spi.VerbsContext;

/**
 * A queue pair ({@code struct ibv_qp}): a send queue and a receive queue, the end of a connection (RC, UC) or of
 * datagrams (UD).
 *
 * <p>Safe for any thread; sends are posted by one thread at a time, and so are receives. After warm-up posting
 * allocates nothing. Source: {@code man 3 ibv_create_qp}, {@code ibv_modify_qp}, {@code ibv_post_send}.
 */
public final class QueuePair extends Resource {

    /** What ibv_query_qp is asked for: everything but the rate limit, which is newer than most devices. */
    private static final int QUERY_MASK = (IbvQpAttrMask.IBV_QP_DEST_QPN << 1) - 1;

    static {
        Posting.DOOR.open(queuePair -> ((QueuePair) queuePair).sends);
    }

    private final ProtectionDomain pd;
    private final QueuePairType type;
    private final QueuePairInitAttributes asked;
    private final QueuePairCapabilities capabilities;
    private final long handle;
    private final int number;
    private final int psn = ThreadLocalRandom.current().nextInt(1 << 24);
    private final SendPoster sends;
    private final ReceivePoster receives;
    /** The multicast groups it is in: the device refuses to destroy a queue pair that hasn't left them. */
    private final Set<Membership> memberships = ConcurrentHashMap.newKeySet();

    QueuePair(ProtectionDomain pd, QueuePairInitAttributes asked, QueuePairCapabilities capabilities, long handle) {
        super(new Lifetime(Turn.USERS, parents(pd, asked)));
        this.pd = pd;
        this.asked = asked;
        this.type = asked.type();
        this.capabilities = capabilities;
        this.handle = handle;
        this.number = Memory.at(handle, IbvQp.SIZE).get(JAVA_INT, IbvQp.QP_NUM);
        VerbsContext verbs = pd.context().verbs;
        if (asked.extended()) {
            asked.sendCq().expectExtendedPosts();
            asked.recvCq().expectExtendedPosts();
        }
        QueuePairOps ops = asked.extended()
                ? verbs.extendedQueuePairOps(handle, capabilities.maxSendSge(), capabilities.maxInlineData())
                : verbs.queuePairOps(handle);
        this.sends = new SendPoster(this, ops);
        this.receives =
                new ReceivePoster(this, "ibv_post_recv", ops, capabilities.maxRecvWr(), capabilities.maxRecvSge());
        pd.context().eventSources.put(handle, this);
        lifetime.begin(this, Ending.of(this::describe, this::destroy).quiescing(this::quiesce));
    }

    private static Lifetime[] parents(ProtectionDomain pd, QueuePairInitAttributes asked) {
        var parents = new ArrayList<Resource>(List.of(pd, asked.sendCq()));
        if (asked.recvCq() != asked.sendCq()) {
            parents.add(asked.recvCq());
        }
        if (asked.srq() != null) {
            parents.add(asked.srq());
        }
        return parents.stream().map(parent -> parent.lifetime).toArray(Lifetime[]::new);
    }

    /** The domain it belongs to. */
    public ProtectionDomain protectionDomain() {
        return pd;
    }

    /** Its transport. */
    public QueuePairType type() {
        return type;
    }

    /** Its number ({@code qp_num}), 24 bits, by which peers name it. */
    public int number() {
        return number;
    }

    /** The number of its first packet when it is connected by {@link #connect}: random, 24 bits. */
    public int psn() {
        return psn;
    }

    /** Where its send requests complete. */
    public CompletionQueue sendCq() {
        return asked.sendCq();
    }

    /** Where its receive requests complete. */
    public CompletionQueue recvCq() {
        return asked.recvCq();
    }

    /** The shared receive queue it takes receives from, or null. */
    public @Nullable SharedReceiveQueue srq() {
        return asked.srq();
    }

    /** The sizes of its queues that the device gave: at least what was asked for. */
    public QueuePairCapabilities capabilities() {
        return capabilities;
    }

    long handle() {
        return handle;
    }

    /**
     * Changes its attributes and its state ({@code ibv_modify_qp}).
     *
     * @throws RdmaSystemException EINVAL names the transition, the attributes that are missing and those that are too
     *     many
     */
    public void modify(QueuePairAttributes attributes) {
        lifetime.enter();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment destination = arena.allocate(IbvQpAttr.SIZE, JAVA_LONG.byteAlignment());
            Structures.QUEUE_PAIR.write(attributes, destination);
            int result = pd.context().verbs.modifyQueuePair(handle, destination, attributes.mask());
            if (result < 0) {
                QueuePairState from = result == -Errno.EINVAL ? state() : QueuePairState.UNKNOWN;
                QueuePairState to =
                        attributes.attributes().contains(QueuePairAttribute.STATE) ? attributes.state() : from;
                TransportType transport = pd.context().device().transportType();
                throw SystemErrors.modifyQueuePair(number, transport, type, from, to, attributes.mask(), -result);
            }
        } finally {
            lifetime.exit();
        }
    }

    /**
     * Its attributes as the device has them ({@code ibv_query_qp}); which of them mean something depends on type and
     * state.
     */
    public QueuePairAttributes query() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attributes = arena.allocate(IbvQpAttr.SIZE, JAVA_LONG.byteAlignment());
            MemorySegment init = arena.allocate(IbvQpInitAttr.SIZE, JAVA_LONG.byteAlignment());
            command(
                    "ibv_query_qp(" + describe() + ")",
                    () -> pd.context().verbs.queryQueuePair(handle, attributes, QUERY_MASK, init));
            return Structures.QUEUE_PAIR.read(attributes, QUERY_MASK);
        }
    }

    /**
     * Whether the bytes of an operation are written in the order of their addresses at the receiver, so that who sees
     * the last one has all of them ({@code ibv_query_qp_data_in_order}). False promises nothing: software devices and
     * most cards say so.
     *
     * @throws LibraryUnavailableException if libibverbs is older than rdma-core 36
     */
    public boolean isDataInOrder(WorkRequestOpcode operation) {
        return command(
                        "ibv_query_qp_data_in_order(" + describe() + ", " + operation + ")",
                        () -> pd.context().verbs.queryDataInOrder(handle, operation.code()))
                != 0;
    }

    /**
     * What this queue pair has counted since it was made, by the names of {@link Device#counters(int)}.
     *
     * @return a copy; empty on a device of the operating system, which counts by port only
     */
    public Map<String, Long> counters() {
        lifetime.enter();
        try {
            return pd.context().verbs.queuePairCounters(handle);
        } finally {
            lifetime.exit();
        }
    }

    /** Whether its sends are posted by the extended calls: see {@link QueuePairInitAttributes#extended}. */
    public boolean isExtended() {
        return asked.extended();
    }

    /** Its state as the device has it. */
    public QueuePairState state() {
        return query().state();
    }

    /** What a peer needs to connect or send to it, with default options. */
    public QueuePairEndpoint endpoint() {
        return endpoint(ConnectOptions.DEFAULTS);
    }

    /** What a peer needs to connect or send to it, by the port and GID index of these options. */
    public QueuePairEndpoint endpoint(ConnectOptions options) {
        return new QueuePairConnector(this, options).endpoint();
    }

    /** RESET to INIT: from here on receives can be posted. */
    public void init(ConnectOptions options) {
        new QueuePairConnector(this, options).toInit();
    }

    /** Connects with default options; see {@link #connect(QueuePairEndpoint, ConnectOptions)}. */
    public void connect(QueuePairEndpoint remote) {
        connect(remote, ConnectOptions.DEFAULTS);
    }

    /**
     * Connects an RC or UC queue pair to a peer's: INIT, if it is in RESET still, then RTR and RTS. Both sides do this;
     * nothing is sent.
     *
     * @throws IllegalStateException for a UD queue pair, which isn't connected but {@link #activate activated}
     * @throws RdmaSystemException if a step is refused; an iWARP device refuses, as only the connection manager
     *     connects it
     */
    public void connect(QueuePairEndpoint remote, ConnectOptions options) {
        if (type == QueuePairType.UD) {
            throw new IllegalStateException(
                    describe() + " is a datagram queue pair: call activate(), and give each message its address");
        }
        var connector = new QueuePairConnector(this, options);
        if (state() == QueuePairState.RESET) {
            connector.toInit();
        }
        connector.toReadyToReceive(remote);
        connector.toReadyToSend();
    }

    /**
     * Brings a UD queue pair to RTS: INIT, if it is in RESET still, then RTR and RTS.
     *
     * @throws IllegalStateException for a queue pair that must be connected
     * @throws RdmaSystemException if a step is refused
     */
    public void activate(ConnectOptions options) {
        if (type != QueuePairType.UD) {
            throw new IllegalStateException(describe() + " must be connected to a peer: call connect(endpoint)");
        }
        var connector = new QueuePairConnector(this, options);
        if (state() == QueuePairState.RESET) {
            connector.toInit();
        }
        connector.toReadyToReceive();
        connector.toReadyToSend();
    }

    /** Makes an address handle to a peer's UD queue pair, by the port and GID index of these options. */
    public AddressHandle addressHandle(QueuePairEndpoint remote, ConnectOptions options) {
        return pd.addressHandle(new QueuePairConnector(this, options).addressOf(remote));
    }

    /**
     * Takes messages of a multicast group ({@code ibv_attach_mcast}); UD only.
     *
     * @param lid the group's LID; 0 on Ethernet
     */
    public void attachMulticast(Gid group, int lid) {
        multicast("ibv_attach_mcast", group, lid, true);
    }

    /** Takes them no longer ({@code ibv_detach_mcast}). */
    public void detachMulticast(Gid group, int lid) {
        multicast("ibv_detach_mcast", group, lid, false);
    }

    private void multicast(String call, Gid group, int lid, boolean attach) {
        var membership = new Membership(group, lid);
        command(nameOf(call, membership), () -> {
            int result = multicast(membership, attach);
            if (result >= 0) {
                note(membership, attach); // inside the guard: a close that follows leaves all groups that are noted
            }
            return result;
        });
    }

    private void note(Membership membership, boolean isIn) {
        if (isIn) {
            memberships.add(membership);
        } else {
            memberships.remove(membership);
        }
    }

    private int multicast(Membership membership, boolean attach) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment gid = arena.allocate(IbvGid.SIZE, JAVA_LONG.byteAlignment());
            Structures.GID.write(membership.group(), gid);
            return attach
                    ? pd.context().verbs.attachMulticast(handle, gid, membership.lid())
                    : pd.context().verbs.detachMulticast(handle, gid, membership.lid());
        }
    }

    private String nameOf(String call, Membership membership) {
        return call + "(" + describe() + ", gid=" + membership.group() + ", lid=" + membership.lid() + ")";
    }

    private record Membership(Gid group, int lid) {}

    /**
     * Posts a list of send requests in one call ({@code ibv_post_send}). Allocates nothing.
     *
     * @throws WorkRequestException with the index of the refused one; those before it are posted, on an extended queue
     *     pair none. ENOMEM is a full queue
     */
    public void post(SendRequests requests) {
        sends.post(requests);
    }

    /**
     * The same for callers that expect a full queue: it isn't an error here.
     *
     * @return how many were posted; less than the list's size if the send queue is full, and on an extended queue pair
     *     none then
     * @throws WorkRequestException if one is refused for another reason, or can never be posted: it exceeds
     *     max_send_sge or max_inline_data, or the list is longer than the send queue of an extended queue pair
     */
    public int tryPost(SendRequests requests) {
        return sends.tryPost(requests);
    }

    /**
     * Writes requests into a list of the queue pair's own and posts them in one call, as {@link #post(SendRequests)}.
     *
     * @param requests begins operations on the list it is given, which is the queue pair's again when it returns
     */
    public void postWith(Consumer<SendRequests> requests) {
        SendRequests list = sends.begin();
        boolean posted = false;
        try {
            requests.accept(list);
            posted = true;
        } finally {
            if (!posted) {
                sends.abandon(list);
            }
        }
        sends.finish(list);
    }

    /**
     * Posts one receive request ({@code ibv_post_recv}). Allocates nothing.
     *
     * @throws WorkRequestException ENOMEM if the queue is full, EINVAL in state RESET or with a shared receive queue
     */
    public void postReceive(long workRequestId, MemorySlice buffer) {
        requireOwnReceiveQueue(1);
        receives.post(workRequestId, buffer);
    }

    /**
     * Posts a list of receive requests in one call.
     *
     * @throws WorkRequestException with the index of the refused one; those before it are posted
     */
    public void postReceive(ReceiveRequests requests) {
        requireOwnReceiveQueue(requests.size());
        receives.post(requests);
    }

    /** Siw's driver follows a null pointer if there is none. */
    private void requireOwnReceiveQueue(int count) {
        if (asked.srq() != null) {
            throw SystemErrors.workRequest("ibv_post_recv(" + describe() + ")", Errno.EINVAL, 0, count);
        }
    }

    private void quiesce() {
        sends.close();
        receives.close();
    }

    private void destroy() {
        memberships.forEach(this::leave);
        SystemErrors.check("ibv_destroy_qp(" + describe() + ")", pd.context().verbs.destroyQueuePair(handle));
        pd.context().eventSources.remove(handle, this); // a new one may already have the address
    }

    private void leave(Membership membership) {
        SystemErrors.check(nameOf("ibv_detach_mcast", membership), multicast(membership, false));
        note(membership, false);
    }

    @Override
    public String describe() {
        return "queue pair " + number + " (" + type + ") on " + pd.context().device().name();
    }
}
