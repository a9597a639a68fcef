package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.kverbs.attributes.Feature;
import org.kverbs.internal.abi.IbvOpsFlags;
import org.kverbs.internal.abi.IbvOpsWr;
import org.kverbs.internal.abi.IbvOpsWrOpcode;
import org.kverbs.internal.abi.IbvSge;
import org.kverbs.spi.TagVerbs;

/**
 * The list of tagged buffers of a {@link SharedReceiveQueue} that matches tags ({@code ibv_post_srq_ops}). A message
 * goes to the first buffer in the list whose tag it has; a message that finds none is unexpected, and goes with its
 * header to an ordinary receive of the queue. {@link TagHeader} writes the header of a message.
 *
 * <p><b>Unexpected messages.</b> From an unexpected message on, the device does not match the buffers that are added
 * later, because the program can have the message that they wait for. The program counts the unexpected messages that
 * it has handled by {@link #handled}; the next operation tells the device, and once the counts are equal, new buffers
 * match again. A completion with {@link WorkCompletion#needsTagSync} asks for it: {@link #sync}.
 *
 * <p><b>Completions</b> come to the queue's own completion queue: {@code TM_RECV} for a buffer, {@code TM_ADD}, {@code
 * TM_DEL} and {@code TM_SYNC} for an operation that asks for one. {@link WorkCompletion#isTagMatched} and {@link
 * WorkCompletion#hasTagData} are both set if the message is whole; a device can give two completions of a long message.
 *
 * <p><b>Room for operations.</b> On mlx5 every operation takes one of the queue's {@code maxOperations} places. It
 * gives it back when an operation completes that was made later and asks for a completion. So ask for one, by {@link
 * #addSignaled}, at least once in {@code maxOperations} operations; otherwise all further ones are refused with
 * ENOMEM. That is known from the driver's sources, and the embedded device does the same.
 *
 * <p>Safe for any thread; one operation at a time, which allocates nothing. The buffers belong to the device until
 * their completions, as those of any receive. Source: {@code man 3 ibv_post_srq_ops}.
 */
public final class TagList {

    /** Where the list of entries stands, behind {@code struct ibv_ops_wr}. */
    private static final long ENTRY = (IbvOpsWr.SIZE + 7L) & ~7L;
    /** Where the device names a refused operation, behind the entry. */
    private static final long REFUSED = ENTRY + IbvSge.SIZE;

    private final SharedReceiveQueue queue;
    private final TagVerbs verbs;
    /** Room for one operation, so that a post allocates nothing. */
    private final MemorySegment room = Arena.ofAuto().allocate(REFUSED + Long.BYTES, Long.BYTES);
    private final MemorySegment refused = room.asSlice(REFUSED);
    private int handled;
    /** The highest handle that the device gave. */
    private int lastHandle = -1;

    TagList(SharedReceiveQueue queue, TagVerbs verbs) {
        this.queue = queue;
        this.verbs = verbs;
    }

    /**
     * Adds a buffer for the next message whose tag is {@code tag} in the bits of {@code mask}.
     *
     * @param receiveId the id of the completion of the receive
     * @param tag the tag, which has no bits outside the mask
     * @param mask the bits that are compared; -1 for all
     * @param buffer gets the payload without the header
     * @return the handle of the entry, for {@link #remove}
     * @throws RdmaSystemException ENOMEM if the list is full; EINVAL if the tag has bits outside the mask
     */
    public int add(long receiveId, long tag, long mask, MemorySlice buffer) {
        return add(0, 0, receiveId, tag, mask, buffer);
    }

    /** Does {@link #add}, with a completion {@code TM_ADD} that has the id {@code operationId}. */
    public int addSignaled(long operationId, long receiveId, long tag, long mask, MemorySlice buffer) {
        return add(IbvOpsFlags.IBV_OPS_SIGNALED, operationId, receiveId, tag, mask, buffer);
    }

    private synchronized int add(int flags, long operationId, long receiveId, long tag, long mask, MemorySlice buffer) {
        room.set(JAVA_LONG, ENTRY + IbvSge.ADDR, buffer.address());
        room.set(JAVA_INT, ENTRY + IbvSge.LENGTH, (int) buffer.length());
        room.set(JAVA_INT, ENTRY + IbvSge.LKEY, buffer.lkey());
        room.set(JAVA_INT, IbvOpsWr.TM_HANDLE, 0);
        room.set(JAVA_LONG, IbvOpsWr.TM_ADD_RECV_WR_ID, receiveId);
        room.set(JAVA_LONG, IbvOpsWr.TM_ADD_SG_LIST, room.address() + ENTRY);
        room.set(JAVA_INT, IbvOpsWr.TM_ADD_NUM_SGE, 1);
        room.set(JAVA_LONG, IbvOpsWr.TM_ADD_TAG, tag);
        room.set(JAVA_LONG, IbvOpsWr.TM_ADD_MASK, mask);
        post(IbvOpsWrOpcode.IBV_WR_TAG_ADD, flags, operationId);
        int added = room.get(JAVA_INT, IbvOpsWr.TM_HANDLE);
        lastHandle = Math.max(lastHandle, added);
        return added;
    }

    /** Refuses a handle that no entry had: the driver mlx5 writes to the memory that it stands for. */
    private void requireKnown(int handle) {
        if (handle < 0 || handle > lastHandle) {
            throw new IllegalArgumentException("handle " + handle + " is of no entry of " + queue.describe()
                    + ": give what add returned");
        }
    }

    /**
     * Takes an entry out of the list. The completion {@code TM_DEL} tells how it went: its status is {@code TM_ERR} if
     * a message took the buffer before. Once the completion {@code TM_RECV} of the entry was polled, its handle is no
     * longer the program's: the driver mlx5 spoils its list if it is removed then.
     *
     * @param operationId the id of that completion
     * @param handle what {@link #add} returned
     * @throws IllegalArgumentException for a handle that no entry had
     */
    public synchronized void remove(long operationId, int handle) {
        requireKnown(handle);
        room.set(JAVA_INT, IbvOpsWr.TM_HANDLE, handle);
        post(IbvOpsWrOpcode.IBV_WR_TAG_DEL, IbvOpsFlags.IBV_OPS_SIGNALED, operationId);
    }

    /** Counts unexpected messages that the program has handled. The next operation tells the device. */
    public synchronized void handled(int messages) {
        handled += messages;
    }

    /**
     * Tells the device how many unexpected messages the program has handled, with a completion {@code TM_SYNC}.
     *
     * @param operationId the id of the completion
     */
    public synchronized void sync(long operationId) {
        post(IbvOpsWrOpcode.IBV_WR_TAG_SYNC, IbvOpsFlags.IBV_OPS_SIGNALED, operationId);
    }

    private void post(int opcode, int flags, long id) {
        room.set(JAVA_LONG, IbvOpsWr.WR_ID, id);
        room.set(JAVA_INT, IbvOpsWr.OPCODE, opcode);
        room.set(JAVA_INT, IbvOpsWr.FLAGS, flags | IbvOpsFlags.IBV_OPS_TM_SYNC);
        room.set(JAVA_INT, IbvOpsWr.TM_UNEXPECTED_CNT, handled);
        queue.lifetime.enter();
        try {
            int result = verbs.post(queue.handle(), room.address(), refused);
            if (result < 0) {
                throw refusal(opcode, -result);
            }
        } finally {
            queue.lifetime.exit();
        }
    }

    private RdmaSystemException refusal(int opcode, int errno) {
        String operation = switch (opcode) {
            case IbvOpsWrOpcode.IBV_WR_TAG_ADD -> "TAG_ADD, tag=0x%x, mask=0x%x".formatted(
                    room.get(JAVA_LONG, IbvOpsWr.TM_ADD_TAG), room.get(JAVA_LONG, IbvOpsWr.TM_ADD_MASK));
            case IbvOpsWrOpcode.IBV_WR_TAG_DEL -> "TAG_DEL, handle=" + room.get(JAVA_INT, IbvOpsWr.TM_HANDLE);
            default -> "TAG_SYNC";
        };
        String call = "ibv_post_srq_ops(" + queue.describe() + ", " + operation + ")";
        return SystemErrors.isMissing(errno)
                ? queue.protectionDomain().context().refusal(Feature.TAG_MATCHING, call, errno)
                : SystemErrors.refused(call, errno, () -> "");
    }
}
