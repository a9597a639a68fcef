package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.ThreadLocalRandom;
import org.kverbs.attributes.ConnectOptions;
import org.kverbs.attributes.QueuePairAttribute;
import org.kverbs.attributes.QueuePairAttributes;
import org.kverbs.attributes.QueuePairEndpoint;
import org.kverbs.attributes.QueuePairState;
import org.kverbs.attributes.QueuePairType;
import org.kverbs.attributes.TransportType;
import org.kverbs.internal.Structures;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvQp;
import org.kverbs.internal.abi.IbvQpAttr;
import org.kverbs.internal.abi.IbvQpAttrMask;
import org.kverbs.internal.abi.IbvQpInitAttr;
import org.kverbs.internal.memory.Memory;

/** Changes and queries the attributes of a queue pair of any type. */
final class QueuePairControl {

    /** The attributes that ibv_query_qp returns: all but the rate limit, which most devices do not know. */
    private static final int QUERY_MASK = (IbvQpAttrMask.IBV_QP_DEST_QPN << 1) - 1;

    private final Resource owner;
    private final Context context;
    private final QueuePairType type;
    private volatile int number;
    private final long handle;
    private final int psn = ThreadLocalRandom.current().nextInt(1 << 24);

    QueuePairControl(Resource owner, Context context, QueuePairType type, int number, long handle) {
        this.owner = owner;
        this.context = context;
        this.type = type;
        this.number = number;
        this.handle = handle;
    }

    Context context() {
        return context;
    }

    QueuePairType type() {
        return type;
    }

    int number() {
        return number;
    }

    /** Reads the number again: that of a DC target of mlx5 is another after the step to RTR. */
    private void readNumber() {
        number = Memory.at(handle, IbvQp.SIZE).get(JAVA_INT, IbvQp.QP_NUM);
    }

    /** Returns the sequence number of the first packet after {@link #connect}: a random number of 24 bits. */
    int psn() {
        return psn;
    }

    void modify(QueuePairAttributes attributes) {
        owner.lifetime.enter();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment destination = arena.allocate(IbvQpAttr.SIZE, JAVA_LONG.byteAlignment());
            Structures.QUEUE_PAIR.write(attributes, destination);
            int result = context.verbs.modifyQueuePair(handle, destination, attributes.mask());
            if (result < 0) {
                QueuePairState from = result == -Errno.EINVAL ? query().state() : QueuePairState.UNKNOWN;
                QueuePairState to =
                        attributes.attributes().contains(QueuePairAttribute.STATE) ? attributes.state() : from;
                TransportType transport = context.device().transportType();
                throw SystemErrors.modifyQueuePair(number, transport, type, from, to, attributes.mask(), -result);
            }
            readNumber();
        } finally {
            owner.lifetime.exit();
        }
    }

    QueuePairAttributes query() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attributes = arena.allocate(IbvQpAttr.SIZE, JAVA_LONG.byteAlignment());
            MemorySegment init = arena.allocate(IbvQpInitAttr.SIZE, JAVA_LONG.byteAlignment());
            owner.command(
                    "ibv_query_qp(" + owner.describe() + ")",
                    () -> context.verbs.queryQueuePair(handle, attributes, QUERY_MASK, init));
            return Structures.QUEUE_PAIR.read(attributes, QUERY_MASK);
        }
    }

    /** Moves a queue pair that takes a connection to RTS, from INIT or from RESET. */
    void connect(QueuePairEndpoint remote, ConnectOptions options) {
        var connector = new QueuePairConnector(this, options);
        if (query().state() == QueuePairState.RESET) {
            connector.toInit();
        }
        connector.toReadyToReceive(remote);
        connector.toReadyToSend();
    }
}
