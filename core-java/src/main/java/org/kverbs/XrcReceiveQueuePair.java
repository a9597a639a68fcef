package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import org.kverbs.attributes.ConnectOptions;
import org.kverbs.attributes.QueuePairAttributes;
import org.kverbs.attributes.QueuePairEndpoint;
import org.kverbs.attributes.QueuePairState;
import org.kverbs.attributes.QueuePairType;
import org.kverbs.internal.Lifetime;
import org.kverbs.internal.Lifetime.Ending;
import org.kverbs.internal.Lifetime.Turn;
import org.kverbs.internal.abi.IbvQp;
import org.kverbs.internal.memory.Memory;

/**
 * The receiving end of an extended reliable connection ({@code struct ibv_qp} of type IBV_QPT_XRC_RECV); the other end
 * is a {@link QueuePair} of type XRC_SEND. It has no queues, so that nothing is posted to it: each request of the peer
 * names a shared receive queue of the same domain. Messages take the receives of that queue, and complete in its
 * completion queue with the {@linkplain WorkCompletion#queuePairNumber number} of this queue pair. Writes, reads and
 * atomics reach the memory of that queue's protection domain.
 *
 * <p>Several processes can {@linkplain XrcDomain#openQueuePair open} one. Safe for any thread. Source: {@code man 3
 * ibv_create_qp_ex}, {@code ibv_open_qp}.
 */
public final class XrcReceiveQueuePair extends Resource {

    private final XrcDomain domain;
    private final long handle;
    private final int number;
    private final QueuePairControl control;

    XrcReceiveQueuePair(XrcDomain domain, long handle) {
        super(new Lifetime(Turn.USERS, domain.lifetime));
        this.domain = domain;
        this.handle = handle;
        this.number = Memory.at(handle, IbvQp.SIZE).get(JAVA_INT, IbvQp.QP_NUM);
        this.control = new QueuePairControl(this, domain.context(), QueuePairType.XRC_RECV, number, handle);
        domain.context().events.add(handle, this);
        lifetime.begin(this, Ending.of(this::describe, this::destroy));
    }

    /** Returns the domain that this queue pair belongs to. */
    public XrcDomain domain() {
        return domain;
    }

    /** Returns the number by which the peer addresses this queue pair, 24 bits ({@code qp_num}). */
    public int number() {
        return number;
    }

    /** Returns the sequence number of the first packet after {@link #connect}: a random number of 24 bits. */
    public int psn() {
        return control.psn();
    }

    long handle() {
        return handle;
    }

    @Override
    protected long nativeAddress() {
        return domain.context().nativeAddress(handle);
    }

    /** Changes attributes, and with them the state; errors as {@link QueuePair#modify}. */
    public void modify(QueuePairAttributes attributes) {
        control.modify(attributes);
    }

    /** Queries the attributes from the device ({@code ibv_query_qp}). */
    public QueuePairAttributes query() {
        return control.query();
    }

    /** Queries the state from the device. */
    public QueuePairState state() {
        return control.query().state();
    }

    /** Returns what the peer needs to connect an XRC_SEND queue pair to this one, with default options. */
    public QueuePairEndpoint endpoint() {
        return endpoint(ConnectOptions.DEFAULTS);
    }

    /** The same with the port and the GID index of {@code options}. */
    public QueuePairEndpoint endpoint(ConnectOptions options) {
        return new QueuePairConnector(control, options).endpoint();
    }

    /**
     * Moves this queue pair from RESET to INIT with the port, the P_Key index and the rights of {@code options}; {@link
     * #connect(QueuePairEndpoint, ConnectOptions)} does it, too.
     */
    public void init(ConnectOptions options) {
        new QueuePairConnector(control, options).toInit();
    }

    /** Connects with default options; see {@link #connect(QueuePairEndpoint, ConnectOptions)}. */
    public void connect(QueuePairEndpoint remote) {
        connect(remote, ConnectOptions.DEFAULTS);
    }

    /**
     * Connects to a peer's XRC_SEND queue pair: moves this queue pair from RESET to INIT, RTR and RTS. The peer
     * connects to the endpoint of this one. The call sends nothing to the peer.
     *
     * @throws RdmaSystemException if the device refuses a step
     */
    public void connect(QueuePairEndpoint remote, ConnectOptions options) {
        control.connect(remote, options);
    }

    /** Loads and arms an alternate path to the sender; see {@link QueuePair#armAlternatePath}. */
    public void armAlternatePath(QueuePairEndpoint remote, ConnectOptions options) {
        PathMigration.arm(control, remote, options);
    }

    /** Moves to the alternate path, if it is armed; see {@link QueuePair#migrate}. */
    public void migrate() {
        PathMigration.migrate(control);
    }

    private void destroy() {
        SystemErrors.check(
                "ibv_destroy_qp(" + describe() + ")", domain.context().verbs.destroyQueuePair(handle));
        domain.context().events.remove(handle, this); // a new queue pair can already have the address
    }

    @Override
    public String describe() {
        return "queue pair " + number + " (XRC_RECV) on " + domain.context().device().name();
    }
}
