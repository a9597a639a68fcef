package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.ConnectOptions;
import org.kverbs.attributes.Ece;
import org.kverbs.attributes.Feature;
import org.kverbs.attributes.Gid;
import org.kverbs.attributes.QueuePairAttributes;
import org.kverbs.attributes.QueuePairCapabilities;
import org.kverbs.attributes.QueuePairEndpoint;
import org.kverbs.attributes.QueuePairState;
import org.kverbs.attributes.QueuePairType;
import org.kverbs.attributes.RateLimit;
import org.kverbs.attributes.RxHash;
import org.kverbs.internal.Lifetime;
import org.kverbs.internal.Lifetime.Ending;
import org.kverbs.internal.Lifetime.Turn;
import org.kverbs.internal.Posting;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvQp;
import org.kverbs.internal.abi.IbvWrOpcode;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.DriverQueuePairs;
import org.kverbs.spi.QueuePairOps;
import org.kverbs.spi.VerbsContext;

/**
 * A queue pair ({@code struct ibv_qp}): a send queue and a receive queue. It is one end of a connection (RC, UC), or it
 * sends and receives datagrams (UD) or Ethernet frames (RAW_PACKET), or it is the sending end of an extended reliable
 * connection (XRC_SEND).
 *
 * <p>Safe for any thread. One thread at a time posts sends, and one thread at a time posts receives; others wait. After
 * warm-up, posting allocates nothing. Source: {@code man 3 ibv_create_qp}, {@code ibv_modify_qp}, {@code
 * ibv_post_send}.
 */
public final class QueuePair extends Resource {

    static {
        Posting.DOOR.open(queuePair -> ((QueuePair) queuePair).sends);
    }

    private final ProtectionDomain pd;
    private final QueuePairType type;
    private final QueuePairInitAttributes asked;
    private final QueuePairCapabilities capabilities;
    private final long handle;
    private final QueuePairControl control;
    private final SendPoster sends;
    private final ReceivePoster receives;
    /** False if a driver such as that of soft-iWARP would follow a null pointer to the receive queue. */
    private final boolean ownsReceiveQueue;
    private final MulticastMemberships groups;

    QueuePair(
            ProtectionDomain pd,
            QueuePairInitAttributes asked,
            QueuePairCapabilities capabilities,
            long handle,
            @Nullable DriverQueuePairs driver) {
        super(new Lifetime(Turn.USERS, parents(pd, asked)));
        this.pd = pd;
        this.asked = asked;
        this.type = asked.type();
        this.capabilities = capabilities;
        this.handle = handle;
        int number = Memory.at(handle, IbvQp.SIZE).get(JAVA_INT, IbvQp.QP_NUM);
        this.control = new QueuePairControl(this, pd.context(), type, number, handle);
        VerbsContext verbs = pd.context().verbs;
        if (asked.extended()) {
            asked.sendCq().expectExtendedPosts();
            asked.recvCq().expectExtendedPosts();
        }
        QueuePairOps ops = driver == null
                ? ops(verbs)
                : driver.ops(verbs, handle, capabilities.maxSendSge(), capabilities.maxInlineData());
        this.sends = new SendPoster(this, ops);
        this.receives =
                new ReceivePoster(this, "ibv_post_recv", ops, capabilities.maxRecvWr(), capabilities.maxRecvSge());
        boolean hasNone = asked.srq() != null || asked.indirectionTable() != null || type == QueuePairType.XRC_SEND;
        this.ownsReceiveQueue = !hasNone && !(type == QueuePairType.DRIVER && capabilities.maxRecvWr() == 0);
        this.groups = new MulticastMemberships(this);
        pd.context().events.add(handle, this);
        lifetime.begin(this, Ending.of(this::describe, this::destroy).quiescing(this::quiesce));
    }

    private QueuePairOps ops(VerbsContext verbs) {
        return asked.extended()
                ? verbs.extendedQueuePairOps(
                        handle,
                        capabilities.maxSendSge(),
                        capabilities.maxInlineData(),
                        OptionalOperations.of(asked))
                : verbs.queuePairOps(handle);
    }

    private static Lifetime[] parents(ProtectionDomain pd, QueuePairInitAttributes asked) {
        var parents = new ArrayList<Resource>(List.of(pd, asked.sendCq()));
        if (asked.recvCq() != asked.sendCq()) {
            parents.add(asked.recvCq());
        }
        if (asked.srq() != null) {
            parents.add(asked.srq());
        }
        if (asked.indirectionTable() != null) {
            parents.add(asked.indirectionTable());
        }
        return parents.stream().map(parent -> parent.lifetime).toArray(Lifetime[]::new);
    }

    /** Returns the parameters that this queue pair was made with. */
    QueuePairInitAttributes asked() {
        return asked;
    }

    /**
     * Returns the longest header of {@link SendRequests#sendSegmented}, in bytes; 0 if the queue pair has no such
     * sends: see {@link QueuePairInitAttributes#maxTsoHeader}.
     */
    public int maxTsoHeader() {
        return asked.maxTsoHeader();
    }

    /** Returns the protection domain that this queue pair belongs to. */
    public ProtectionDomain protectionDomain() {
        return pd;
    }

    /** Returns the transport. */
    public QueuePairType type() {
        return type;
    }

    /**
     * Returns the number by which peers address this queue pair, 24 bits ({@code qp_num}). A DC target of mlx5 has it
     * from RTR on.
     */
    public int number() {
        return control.number();
    }

    /** Returns the sequence number of the first packet after {@link #connect}: a random number of 24 bits. */
    public int psn() {
        return control.psn();
    }

    /** Returns the completion queue of send requests; unused if there is an {@link #indirectionTable}. */
    public CompletionQueue sendCq() {
        return asked.sendCq();
    }

    /**
     * Returns the completion queue of receive requests; that of sends for XRC_SEND, which receives nothing. With an
     * {@link #indirectionTable} it is unused: each {@link WorkQueue} has its own. Receives from a shared queue with
     * {@linkplain SharedReceiveQueue#tags() tags} complete in the queue that it was made with.
     */
    public CompletionQueue recvCq() {
        return asked.recvCq();
    }

    /**
     * Returns the shared receive queue that this queue pair takes receives from, or null if it has a receive queue of
     * its own.
     */
    public @Nullable SharedReceiveQueue srq() {
        return asked.srq();
    }

    /** Returns the table of the work queues that received frames are spread over, or null if there is none. */
    public @Nullable ReceiveIndirectionTable indirectionTable() {
        return asked.indirectionTable();
    }

    /** Returns the hash that chooses a work queue of the table; null without a table. */
    public @Nullable RxHash rxHash() {
        return asked.rxHash();
    }

    /** Returns the sizes of the queues that the device gave: at least those that were asked for. */
    public QueuePairCapabilities capabilities() {
        return capabilities;
    }

    long handle() {
        return handle;
    }

    @Override
    protected long nativeAddress() {
        return pd.context().nativeAddress(handle);
    }

    /**
     * Changes attributes, and with them the state, of this queue pair ({@code ibv_modify_qp}).
     *
     * @throws RdmaSystemException if the device refuses; for EINVAL the message names the transition, the missing
     *     attributes and the superfluous ones
     */
    public void modify(QueuePairAttributes attributes) {
        control.modify(attributes);
    }

    /**
     * Queries the attributes from the device ({@code ibv_query_qp}). The type and the state determine which of them are
     * valid.
     */
    public QueuePairAttributes query() {
        return control.query();
    }

    /**
     * Queries whether the receiver's device writes the bytes of an operation in the order of their addresses ({@code
     * ibv_query_qp_data_in_order}). If so, a program that sees the last byte has all of them. Software devices and most
     * NICs return false, which promises no order.
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
     * Returns the counters of this queue pair since its creation, by the names of {@link Device#counters(int)}.
     *
     * @return a copy; empty on a device of the operating system, which counts only by port
     */
    public Map<String, Long> counters() {
        lifetime.enter();
        try {
            return pd.context().verbs.queuePairCounters(handle);
        } finally {
            lifetime.exit();
        }
    }

    /** Returns whether sends are posted by the extended calls: see {@link QueuePairInitAttributes#extended}. */
    public boolean isExtended() {
        return asked.extended();
    }

    /**
     * Queries the vendor's options that this queue pair supports or uses ({@code ibv_query_ece}). The connection
     * manager can offer them to the peer: {@code ConnectionIdOptions.localEce}.
     *
     * @throws UnsupportedVerbException if the device or the library has no such options
     */
    public Ece queryEce() {
        return QueuePairTuning.queryEce(this);
    }

    /**
     * Asks for vendor's options, which the next steps to RTS use ({@code ibv_set_ece}).
     *
     * @return the options that the device accepted
     * @throws UnsupportedVerbException if the device or the library has no such options, or if the vendor is 0
     */
    public Ece setEce(Ece ece) {
        return QueuePairTuning.setEce(this, ece);
    }

    /**
     * Limits the rate at which this queue pair sends, or ends the limit ({@code ibv_modify_qp_rate_limit}). The queue
     * pair must be in RTS.
     *
     * @throws UnsupportedVerbException if the device has no such limits
     * @throws RdmaSystemException if the device refuses, such as EINVAL for a rate outside its limits
     */
    public void limitRate(RateLimit limit) {
        QueuePairTuning.limitRate(this, limit);
    }

    /** Returns the operations that it has beside the usual ones: see {@link QueuePairInitAttributes#features}. */
    public Set<Feature> features() {
        return asked.features();
    }

    /** Queries the state from the device. */
    public QueuePairState state() {
        return query().state();
    }

    /** Returns what a peer needs to connect or to send to this queue pair, with default options. */
    public QueuePairEndpoint endpoint() {
        return endpoint(ConnectOptions.DEFAULTS);
    }

    /**
     * Returns what a peer needs to connect or to send to this queue pair, with the port and the GID index of {@code
     * options}.
     */
    public QueuePairEndpoint endpoint(ConnectOptions options) {
        return new QueuePairConnector(control, options).endpoint();
    }

    /** Moves this queue pair from RESET to INIT. In INIT it takes receives. */
    public void init(ConnectOptions options) {
        new QueuePairConnector(control, options).toInit();
    }

    /** Connects with default options; see {@link #connect(QueuePairEndpoint, ConnectOptions)}. */
    public void connect(QueuePairEndpoint remote) {
        connect(remote, ConnectOptions.DEFAULTS);
    }

    /**
     * Connects an RC, UC or XRC_SEND queue pair to a peer's: moves it to INIT if it is still in RESET, then to RTR and
     * RTS. Both sides call this. The call sends nothing to the peer. The peer of an XRC_SEND queue pair is an {@link
     * XrcReceiveQueuePair}.
     *
     * @throws IllegalStateException for a UD or raw packet queue pair, which {@link #activate} brings up instead
     * @throws RdmaSystemException if the device refuses a step; an iWARP device refuses, since only the connection
     *     manager connects it
     */
    public void connect(QueuePairEndpoint remote, ConnectOptions options) {
        if (type == QueuePairType.RAW_PACKET) {
            throw new IllegalStateException(
                    describe() + " has no peer: call activate(), and give each frame its Ethernet header");
        }
        if (type == QueuePairType.UD) {
            throw new IllegalStateException(
                    describe() + " is a datagram queue pair: call activate(), and give each message its address");
        }
        control.connect(remote, options);
    }

    /**
     * Loads an alternate path to the peer of this RC, UC or XRC_SEND queue pair, and asks for it to be armed ({@code
     * ibv_modify_qp} with {@code IBV_QP_ALT_PATH} and {@code IBV_MIG_REARM}). The queue pair must be in RTS. Both sides
     * call this, and {@link QueuePairAttributes#migrationState} is ARMED when each has had a packet of the other since.
     * From then on the queue pair moves to the path by itself when a request has no retry left, or at {@link #migrate},
     * and then raises {@code PATH_MIG}; its peer follows at the first packet. A queue pair that migrated needs another
     * alternate path.
     *
     * @param remote the peer's {@link #endpoint(ConnectOptions)}, with the GID of the alternate path
     * @param options port, GID index, flow label and so on of the path, and its timeout
     * @throws UnsupportedVerbException if the device does not have {@code Feature.PATH_MIGRATION}
     * @throws RdmaSystemException if the device refuses, such as EINVAL for a queue pair in another state
     */
    public void armAlternatePath(QueuePairEndpoint remote, ConnectOptions options) {
        PathMigration.arm(control, remote, options);
    }

    /**
     * Moves this queue pair to its alternate path now, if it is ARMED; otherwise ends the wait for that ({@code
     * ibv_modify_qp} with {@code IBV_MIG_MIGRATED}). The queue pair must be in RTS.
     *
     * @throws RdmaSystemException if the device refuses
     */
    public void migrate() {
        PathMigration.migrate(control);
    }

    /**
     * Brings a UD or a raw packet queue pair up: moves it to INIT if it is still in RESET, then to RTR and RTS.
     *
     * @throws IllegalStateException for a queue pair of another type, which {@link #connect} brings up instead, and for
     *     one with an {@link #indirectionTable}, which receives since it was made
     * @throws RdmaSystemException if the device refuses a step
     */
    public void activate(ConnectOptions options) {
        if (type != QueuePairType.UD && type != QueuePairType.RAW_PACKET) {
            throw new IllegalStateException(describe() + " must be connected to a peer: call connect(endpoint)");
        }
        if (asked.indirectionTable() != null) {
            throw new IllegalStateException(describe() + " has an indirection table, and receives since it was made:"
                    + " move its work queues to RDY; a device of mlx4 alone needs modify to INIT and RTR");
        }
        var connector = new QueuePairConnector(control, options);
        if (state() == QueuePairState.RESET) {
            connector.toInit();
        }
        connector.toReadyToReceive();
        connector.toReadyToSend();
    }

    /** Makes an address handle to a peer's UD queue pair, with the port and the GID index of {@code options}. */
    public AddressHandle addressHandle(QueuePairEndpoint remote, ConnectOptions options) {
        return pd.addressHandle(new QueuePairConnector(control, options).addressOf(remote));
    }

    /**
     * Attaches a UD queue pair to a multicast group, so that it receives the group's messages ({@code
     * ibv_attach_mcast}).
     *
     * @param group the GID of the group
     * @param lid the LID of the group; 0 on Ethernet
     */
    public void attachMulticast(Gid group, int lid) {
        groups.attach(group, lid);
    }

    /**
     * Detaches a UD queue pair from a multicast group ({@code ibv_detach_mcast}). Closing the queue pair does it too.
     */
    public void detachMulticast(Gid group, int lid) {
        groups.detach(group, lid);
    }

    /**
     * Adds a rule by which this queue pair receives frames ({@code ibv_create_flow}). A raw packet queue pair receives
     * nothing without a rule.
     *
     * @throws IllegalArgumentException if the counters or the action of the rule belong to another context
     * @throws UnsupportedVerbException if the device does not have {@link Feature#FLOW_STEERING}
     * @throws RdmaSystemException if the device refuses: EINVAL for a queue pair of type RC or UC, EOPNOTSUPP if it has
     *     no rules of this kind
     */
    public Flow flow(FlowAttributes attributes) {
        return Flow.make(this, attributes);
    }

    /**
     * Posts a list of send requests in one call ({@code ibv_post_send}). Allocates nothing.
     *
     * @throws WorkRequestException if the device refuses a request; the exception has its index. The requests before it
     *     are posted, but none on an extended queue pair. ENOMEM stands for a full queue
     * @throws UnsupportedVerbException for an atomic write or a flush on a queue pair that was not made for it; nothing
     *     is posted
     */
    public void post(SendRequests requests) {
        sends.post(requests);
    }

    /**
     * Posts a list of send requests, of which some can remain: a full send queue is no error here. Allocates nothing.
     *
     * @return how many requests were posted; fewer than the list has if the send queue is full. An extended queue pair
     *     then posts none
     * @throws WorkRequestException if the device refuses a request for another reason, or if a request can never be
     *     posted: it exceeds max_send_sge or max_inline_data, or the list is longer than the send queue of an extended
     *     queue pair
     */
    public int tryPost(SendRequests requests) {
        return sends.tryPost(requests);
    }

    /**
     * Writes requests into a list of the queue pair's own and posts them in one call, as {@link #post(SendRequests)}.
     * The call allocates nothing. A lambda that uses variables of its surroundings is an object, which the JIT does not
     * always remove: keep it in a field where each byte counts.
     *
     * @param requests begins operations on the list it is given, which is the queue pair's again when it returns
     */
    public void postWith(Consumer<SendRequests> requests) {
        sends.postWith(requests);
    }

    /**
     * Posts one message to the peer's next receive request (IBV_WR_SEND). This and the next methods are the cheapest
     * way to post a request that has one buffer and ends with a completion. They allocate nothing. Queue pairs whose
     * requests name a destination, such as those of type UD and XRC_SEND, refuse them: {@link #post} takes those.
     *
     * @throws WorkRequestException if the device refuses the request. ENOMEM stands for a full queue
     */
    public void postSend(long workRequestId, MemorySlice from) {
        sends.postOne(IbvWrOpcode.IBV_WR_SEND, workRequestId, from, 0, 0);
    }

    /**
     * Posts one write to the start of a peer's memory (IBV_WR_RDMA_WRITE); RC and UC. See {@link #postSend}.
     *
     * @throws IndexOutOfBoundsException if the buffer is longer than the peer's memory
     */
    public void postWrite(long workRequestId, MemorySlice from, RemoteMemory to) {
        postWrite(workRequestId, from, to.addressAt(0, from.length()), to.rkey());
    }

    /** The same with address and key given, which the peer's device checks. */
    public void postWrite(long workRequestId, MemorySlice from, long remoteAddress, int rkey) {
        sends.postOne(IbvWrOpcode.IBV_WR_RDMA_WRITE, workRequestId, from, remoteAddress, rkey);
    }

    /**
     * Posts one read from the start of a peer's memory (IBV_WR_RDMA_READ); RC only. See {@link #postSend}.
     *
     * @throws IndexOutOfBoundsException if the buffer is longer than the peer's memory
     */
    public void postRead(long workRequestId, MemorySlice into, RemoteMemory from) {
        postRead(workRequestId, into, from.addressAt(0, into.length()), from.rkey());
    }

    /** The same with address and key given, which the peer's device checks. */
    public void postRead(long workRequestId, MemorySlice into, long remoteAddress, int rkey) {
        sends.postOne(IbvWrOpcode.IBV_WR_RDMA_READ, workRequestId, into, remoteAddress, rkey);
    }

    /**
     * Posts one receive request ({@code ibv_post_recv}). Allocates nothing.
     *
     * @param workRequestId the id that the completion carries
     * @param buffer receives the message
     *
     * @throws WorkRequestException ENOMEM if the queue is full; EINVAL in state RESET, or if the queue pair has a
     *     shared receive queue or an indirection table, or is of type XRC_SEND
     */
    public void postReceive(long workRequestId, MemorySlice buffer) {
        requireOwnReceiveQueue(1);
        receives.post(workRequestId, buffer);
    }

    /**
     * Posts a list of receive requests in one call.
     *
     * @throws WorkRequestException if the device refuses a request; the exception has its index, and the requests
     *     before it are posted
     */
    public void postReceive(ReceiveRequests requests) {
        requireOwnReceiveQueue(requests.size());
        receives.post(requests);
    }

    private void requireOwnReceiveQueue(int count) {
        if (!ownsReceiveQueue) {
            throw SystemErrors.workRequest("ibv_post_recv(" + describe() + ")", Errno.EINVAL, 0, count);
        }
    }

    private void quiesce() {
        sends.close();
        receives.close();
    }

    private void destroy() {
        groups.leaveAll();
        SystemErrors.check("ibv_destroy_qp(" + describe() + ")", pd.context().verbs.destroyQueuePair(handle));
        pd.context().events.remove(handle, this); // a new queue pair can already have the address
    }

    @Override
    public String describe() {
        return "queue pair " + number() + " (" + type + ") on " + pd.context().device().name();
    }
}
