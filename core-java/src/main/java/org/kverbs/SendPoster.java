package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.Feature;
import org.kverbs.attributes.QueuePairCapabilities;
import org.kverbs.internal.Guard;
import org.kverbs.internal.Posting;
import org.kverbs.internal.Refusal;
import org.kverbs.internal.RequestLimits;
import org.kverbs.internal.SegmentedSend;
import org.kverbs.internal.SingleSend;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvWrOpcode;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.QueuePairOps;

/**
 * Posts sends of a queue pair. It admits one thread at a time, and none after the close. Its methods are those of
 * {@link QueuePair}. Lists are written before the post, outside the guard.
 */
final class SendPoster implements Posting<SendRequests> {

    /** How many threads may write lists at a time before one allocates its own. */
    private static final int SPARES = 4;

    private static final int BORROWS_GROWTH = 8;
    private static final int MOST_BORROWS = 1 << 24;

    private final QueuePair owner;
    /**
     * True if each request needs a destination besides the one that the queue pair is connected to, or if it can have
     * none.
     */
    private final boolean isAddressed;
    private final QueuePairOps ops;
    /** What the queue pair has of {@link SendRequests#optional}. */
    private final int operations;
    private final Guard guard = new Guard();
    private final MemorySegment refused = Arena.ofAuto().allocate(JAVA_LONG);
    private final long refusedAddress = refused.address();
    private final SingleSend single = new SingleSend();
    /** The list of a thread that borrowed often, which costs it no atomic operation; null before the first borrow. */
    private volatile @Nullable OwnList own;
    /** How many borrows found no list of their thread, and how many must have when the next thread gets its own. */
    private int borrows;

    private int nextOwn = 1;
    /** The other lists that are not lent at the moment. */
    private final AtomicReferenceArray<@Nullable SendRequests> spares = new AtomicReferenceArray<>(SPARES);

    SendPoster(QueuePair owner, QueuePairOps ops) {
        this.owner = owner;
        this.ops = ops;
        this.isAddressed = owner.indirectionTable() != null || switch (owner.type()) {
            case UD, XRC_SEND -> true;
            case DRIVER -> owner.capabilities().maxSendWr() > 0;
            default -> false;
        };
        this.operations = OptionalOperations.of(owner.asked());
    }

    void post(SendRequests requests) {
        requireNone(postAll(requests), requests);
    }

    /** Posts one signaled request with one buffer. A send has no remote memory. */
    void postOne(int opcode, long workRequestId, MemorySlice buffer, long remoteAddress, int rkey) {
        enter();
        try {
            if (isAddressed) {
                requireAddresses(listOf(opcode, workRequestId, buffer, remoteAddress, rkey)); // refuses it: it has none
            }
            int result = ops.postSend(
                    single.write(
                            workRequestId,
                            opcode,
                            remoteAddress,
                            rkey,
                            buffer.address(),
                            (int) buffer.length(),
                            buffer.lkey()),
                    refusedAddress);
            if (result != 0) {
                SendRequests list = listOf(opcode, workRequestId, buffer, remoteAddress, rkey);
                requireNone(left(list, -result), list);
            }
        } finally {
            guard.exit();
        }
    }

    /** Returns the request of {@link #postOne} as a list, which a refusal describes. */
    private static SendRequests listOf(
            int opcode, long workRequestId, MemorySlice buffer, long remoteAddress, int rkey) {
        SendRequests list = new SendRequests();
        SendRequests begun = switch (opcode) {
            case IbvWrOpcode.IBV_WR_RDMA_WRITE -> list.write(workRequestId, remoteAddress, rkey);
            case IbvWrOpcode.IBV_WR_RDMA_READ -> list.read(workRequestId, remoteAddress, rkey);
            default -> list.send(workRequestId);
        };
        return begun.from(buffer).signaled();
    }

    void postWith(Consumer<SendRequests> requests) {
        SendRequests list = begin();
        boolean posted = false;
        try {
            requests.accept(list);
            posted = true;
        } finally {
            if (!posted) {
                abandon(list);
            }
        }
        finish(list);
    }

    int tryPost(SendRequests requests) {
        int left = postAll(requests);
        if (left > 0) {
            Refusal.forget();
        }
        return requests.size() - left;
    }

    /** Posts a list and returns how many of its requests a full queue did not take. */
    private int postAll(SendRequests requests) {
        if (requests.requests.isEmpty()) {
            return 0;
        }
        enter();
        try {
            return postEntered(requests);
        } finally {
            guard.exit();
        }
    }

    @Override
    public SendRequests begin() {
        if (guard.isClosing()) {
            throw owner.closed();
        }
        OwnList mine = own;
        return mine != null && mine.take(Thread.currentThread().threadId()) ? mine.list : borrow();
    }

    private SendRequests borrow() {
        if (++borrows >= nextOwn) { // two threads can count one borrow: that only delays a list
            nextOwn = nextOwn > MOST_BORROWS ? nextOwn : nextOwn * BORROWS_GROWTH;
            borrows = 0;
            OwnList created = new OwnList(Thread.currentThread().threadId());
            own = created;
            return created.list;
        }
        for (int i = 0; i < SPARES; i++) {
            if (spares.getPlain(i) != null) {
                SendRequests spare = spares.getAndSet(i, null);
                if (spare != null) {
                    return spare;
                }
            }
        }
        return new SendRequests();
    }

    @Override
    public void finish(SendRequests list) {
        try {
            requireNone(postAll(list), list);
        } finally {
            abandon(list);
        }
    }

    /**
     * Two threads that give back at once may take the same place: one list is garbage then, and another made when it is
     * needed.
     */
    @Override
    public void abandon(SendRequests list) {
        list.clear();
        OwnList mine = own;
        if (mine != null && mine.list == list) {
            mine.giveBack();
            return;
        }
        for (int i = 0; i < SPARES; i++) {
            if (spares.getPlain(i) == null) {
                spares.setRelease(i, list);
                return;
            }
        }
    }

    /** Refuses a list with a request that does not say where it goes. */
    private void requireAddresses(SendRequests requests) {
        if (owner.indirectionTable() != null) { // drivers would look into the completion queue that it does not have
            throw new WorkRequestException(
                    call(), Errno.EINVAL, "A queue pair with an indirection table sends nothing.", 0, requests.size());
        }
        int index = switch (owner.type()) {
            case UD -> requests.firstUnaddressed();
            case XRC_SEND -> requests.firstWithoutQueue();
            default -> requests.firstWithoutDestination();
        };
        if (index >= 0) {
            String advice = switch (owner.type()) {
                case UD -> "A request of a UD queue pair needs an address: add to(addressHandle, queuePairNumber,"
                        + " qkey). It is a send: no other request has an address there.";
                case XRC_SEND -> "A request of an XRC_SEND queue pair names a queue of the peer: add"
                        + " toSharedReceiveQueue(number).";
                default -> "A request of a queue pair of a driver's own type needs a destination: add"
                        + " to(addressHandle, number, key).";
            };
            throw new WorkRequestException(call(), Errno.EINVAL, advice, index, requests.size());
        }
    }

    private int postEntered(SendRequests requests) {
        if (isAddressed) {
            requireAddresses(requests);
        }
        int result;
        try {
            result = requests.hasMore
                    ? postWithUsed(requests)
                    : ops.postSend(requests.requests.first(), refusedAddress);
        } finally {
            Reference.reachabilityFence(requests);
        }
        return result == 0 ? 0 : left(requests, -result);
    }

    /** Posts while the handles, windows and regions that the C library reads stay open. */
    private int postWithUsed(SendRequests requests) {
        requireOperations(requests);
        int entered = 0;
        try {
            for (; entered < requests.usedCount; entered++) {
                requests.used[entered].lifetime.enter();
            }
            int result = ops.postSend(requests.requests.first(), refusedAddress);
            if (requests.binds) {
                requests.keepKeys(result == 0 ? requests.size() : owner.isExtended() ? 0 : refusedIndex(requests));
            }
            return result;
        } finally {
            while (entered > 0) {
                requests.used[--entered].lifetime.exit();
            }
        }
    }

    /** Refuses what the queue pair was not made for. On a device it can be a function that the driver does not have. */
    private void requireOperations(SendRequests requests) {
        if ((requests.optional & ~operations) != 0) {
            int index = OptionalOperations.firstBeyond(requests.requests, operations);
            Feature needed = Objects.requireNonNull(OptionalOperations.neededBy(requests.requests, index));
            throw UnsupportedVerbException.ofQueuePair(owner, needed, index, requests.size());
        }
    }

    /** Returns how many requests the device left of a list that it took in part. Throws unless its queue is full. */
    private int left(SendRequests requests, int errno) {
        int index = refusedIndex(requests);
        Memory.putLong(refusedAddress, 0); // a driver that names no request would leave this one to the next refusal
        boolean isFull = errno == Errno.ENOMEM || errno == Errno.EAGAIN;
        String exceeded = exceeded(requests, index, isFull);
        if (exceeded != null) { // drivers answer ENOMEM to this as well, and a caller would retry without end
            Refusal.forget();
            throw new WorkRequestException(call(), isFull ? Errno.EINVAL : errno, exceeded, index, requests.size());
        }
        if (isFull) {
            return requests.size() - index;
        }
        throw SystemErrors.workRequest(call(), errno, index, requests.size());
    }

    private @Nullable String exceeded(SendRequests requests, int index, boolean isFull) {
        String header = SegmentedSend.exceeded(requests.requests.at(index), owner.asked().maxTsoHeader());
        if (header != null) {
            return header;
        }
        QueuePairCapabilities limits = owner.capabilities();
        if (isFull && owner.isExtended() && requests.size() > limits.maxSendWr()) {
            return "The list has " + requests.size() + " requests, an extended queue pair takes all of a list or none,"
                    + " and max_send_wr is " + limits.maxSendWr()
                    + ": create the queue pair with a larger one, or post shorter lists.";
        }
        return RequestLimits.exceededBySend(
                requests.requests.at(index), limits.maxSendWr(), limits.maxSendSge(), limits.maxInlineData());
    }

    private int refusedIndex(SendRequests requests) {
        return requests.requests.indexOf(refused.get(JAVA_LONG, 0));
    }

    private void requireNone(int left, SendRequests requests) {
        if (left > 0) {
            int count = requests.size();
            throw SystemErrors.workRequest(call(), Errno.ENOMEM, count - left, count);
        }
    }

    private void enter() {
        if (!guard.enter()) {
            throw owner.closed();
        }
    }

    private String call() {
        return "ibv_post_send(" + owner.describe() + ")";
    }

    void close() {
        guard.beginClose();
        guard.awaitDrained();
    }
}
