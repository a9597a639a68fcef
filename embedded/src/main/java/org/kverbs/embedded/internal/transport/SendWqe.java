package org.kverbs.embedded.internal.transport;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.objects.AddressVector;
import org.kverbs.embedded.internal.objects.MemoryKey;
import org.kverbs.embedded.internal.objects.Mr;
import org.kverbs.embedded.internal.objects.Mw;
import org.kverbs.embedded.internal.watch.Posted;
import org.kverbs.embedded.internal.watch.Watch;
import org.kverbs.embedded.internal.wire.Opcode;
import org.kverbs.internal.PlacementExtensions;
import org.kverbs.internal.abi.IbvAccessFlags;
import org.kverbs.internal.abi.IbvSendFlags;
import org.kverbs.internal.abi.IbvWcOpcode;
import org.kverbs.internal.abi.IbvWcStatus;
import org.kverbs.internal.abi.IbvWrOpcode;
import org.kverbs.internal.memory.Memory;

/** A posted send work request with its progress. Each slot of a send queue has one, which is reused. */
final class SendWqe {

    /** The most nested parts of a read whose ends are kept. */
    private static final int MOST_ENDS = 8;

    private static final int[] NO_ENDS = {};

    long id;
    int opcode;
    int flags;
    /** imm_data read as a big-endian number, or the key to invalidate. */
    int immediate;
    long remoteAddress;
    int rkey;
    /** Of an atomic write the value, of a flush the bytes to flush. */
    long compareOrAdd;
    long swap;
    /** Of a flush: a FETH. */
    int placement;
    /** The bytes of all entries. */
    long length;
    int count;
    final long[] addresses;
    final int[] lengths;
    final int[] lkeys;
    /** The address of this slot's inline data. */
    final long inlineAddress;

    // The destination of a datagram, copied at the post, so that the address handle may be closed.
    final AddressVector route = new AddressVector();
    int remoteQp;
    int remoteQkey;
    /** Of XRC: the number of the shared receive queue that the request names. */
    int sharedQueue;

    // The binding of a window.
    @Nullable Mw window;
    @Nullable Mr region;
    long bindAddress;
    long bindLength;
    int bindAccess;

    /** Of a send that is cut into segments: these. Kept for the next one of the slot. */
    @Nullable Segments segments;

    /** The diagnostics' record of the request, if they are on. */
    @Nullable Posted posted;

    // Progress.
    /** True if the request has its PSNs. */
    boolean started;
    boolean done;
    int status;
    int firstPsn;
    /** The number of PSNs that the request takes. */
    int psns;
    /** The number of PSNs that were sent, or requested. */
    int sent;
    /** The number of response PSNs that came. */
    int received;
    /** Of a read: the start of the part that was requested last, in PSNs. */
    private int asked;
    /**
     * Whether that part was requested before: then answers to the earlier request can come, which begin and end
     * elsewhere.
     */
    private boolean askedAgain;
    /**
     * The ends of the requested parts of a read that have not come, in PSNs of the read; the nearest end stands last.
     */
    private int[] ends = NO_ENDS;
    private int endCount;

    SendWqe(int maxEntries, long inlineAddress) {
        addresses = new long[maxEntries];
        lengths = new int[maxEntries];
        lkeys = new int[maxEntries];
        this.inlineAddress = inlineAddress;
    }

    boolean is(int flag) {
        return (flags & flag) != 0;
    }

    boolean isInline() {
        return is(IbvSendFlags.IBV_SEND_INLINE);
    }

    boolean isRead() {
        return opcode == IbvWrOpcode.IBV_WR_RDMA_READ;
    }

    boolean isAtomic() {
        return opcode == IbvWrOpcode.IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IbvWrOpcode.IBV_WR_ATOMIC_FETCH_AND_ADD;
    }

    boolean isAtomicWrite() {
        return opcode == IbvWrOpcode.IBV_WR_ATOMIC_WRITE;
    }

    boolean isFlush() {
        return opcode == PlacementExtensions.IBV_WR_FLUSH;
    }

    boolean isSegmented() {
        return opcode == IbvWrOpcode.IBV_WR_TSO;
    }

    /** Tells whether the peer answers with a response that has no data (IBA volume 1, annex A19). */
    boolean isAnsweredBare() {
        return isAtomicWrite() || isFlush();
    }

    /** Tells whether the peer answers with a response of its own; an acknowledgement is not enough. */
    boolean isAnswered() {
        return isRead() || isAtomic() || isAnsweredBare();
    }

    /** Tells whether the request involves no peer. */
    boolean isLocal() {
        return opcode == IbvWrOpcode.IBV_WR_LOCAL_INV || opcode == IbvWrOpcode.IBV_WR_BIND_MW;
    }

    /** Tells whether the request failed; then no request after it is sent. */
    boolean hasFailed() {
        return done && status != IbvWcStatus.IBV_WC_SUCCESS;
    }

    boolean isWrite() {
        return opcode == IbvWrOpcode.IBV_WR_RDMA_WRITE || opcode == IbvWrOpcode.IBV_WR_RDMA_WRITE_WITH_IMM;
    }

    boolean hasImmediate() {
        return opcode == IbvWrOpcode.IBV_WR_RDMA_WRITE_WITH_IMM || opcode == IbvWrOpcode.IBV_WR_SEND_WITH_IMM;
    }

    /**
     * Notes that a part of a read is requested from {@link #received} on.
     *
     * <p>The peer may have carried out any of the earlier requests. It drops a request that begins within what it has
     * carried out and reaches beyond that (IBA volume 1, 9.7.5.1.4). So a part that is requested again ends no later
     * than any earlier part that has not come.
     *
     * @param most PSNs to request
     * @return how many PSNs to request, at least one
     */
    int ask(int most) {
        while (endCount > 0 && ends[endCount - 1] <= received) {
            endCount--;
        }
        askedAgain = endCount > 0;
        asked = received;
        int left = (askedAgain ? ends[endCount - 1] : psns) - received;
        int covered = askedAgain && endCount == MOST_ENDS ? left : Math.min(most, left);
        if (!askedAgain || covered < left) {
            if (endCount == ends.length) {
                ends = Arrays.copyOf(ends, Math.max(1, 2 * endCount));
            }
            ends[endCount++] = received + covered;
        }
        return covered;
    }

    /** Returns how many PSNs of a read the peer can answer, whichever of the requests it has carried out. */
    int mostAsked() {
        return endCount == 0 ? 0 : ends[0];
    }

    /** Tells whether the next response of a read can have this opcode, if it takes this many PSNs. */
    boolean isNext(int opcode, int count) {
        boolean begins = Opcode.begins(opcode);
        boolean ends = Opcode.isLast(opcode) || Opcode.isOnly(opcode);
        if (askedAgain) {
            return !begins || received == asked;
        }
        return begins == (received == asked) && ends == (received + count == sent);
    }

    /**
     * Returns the RC opcode of a packet with the request's data. UC has the same opcodes, except those that invalidate.
     */
    int packetOpcode(boolean first, boolean last) {
        if (opcode == IbvWrOpcode.IBV_WR_SEND_WITH_INV && last) {
            return first ? Opcode.RC_SEND_ONLY_INVALIDATE : Opcode.RC_SEND_LAST_INVALIDATE;
        }
        if (isWrite()) {
            int only = hasImmediate() ? Opcode.RC_WRITE_ONLY_IMMEDIATE : Opcode.RC_WRITE_ONLY;
            int end = hasImmediate() ? Opcode.RC_WRITE_LAST_IMMEDIATE : Opcode.RC_WRITE_LAST;
            return first ? last ? only : Opcode.RC_WRITE_FIRST : last ? end : Opcode.RC_WRITE_MIDDLE;
        }
        int only = hasImmediate() ? Opcode.RC_SEND_ONLY_IMMEDIATE : Opcode.RC_SEND_ONLY;
        int end = hasImmediate() ? Opcode.RC_SEND_LAST_IMMEDIATE : Opcode.RC_SEND_LAST;
        return first ? last ? only : Opcode.RC_SEND_FIRST : last ? end : Opcode.RC_SEND_MIDDLE;
    }

    /** Returns the {@code enum ibv_wc_opcode} of the completion. */
    int completionOpcode() {
        return switch (opcode) {
            case IbvWrOpcode.IBV_WR_RDMA_WRITE, IbvWrOpcode.IBV_WR_RDMA_WRITE_WITH_IMM -> IbvWcOpcode.IBV_WC_RDMA_WRITE;
            case IbvWrOpcode.IBV_WR_RDMA_READ -> IbvWcOpcode.IBV_WC_RDMA_READ;
            case IbvWrOpcode.IBV_WR_ATOMIC_CMP_AND_SWP -> IbvWcOpcode.IBV_WC_COMP_SWAP;
            case IbvWrOpcode.IBV_WR_ATOMIC_FETCH_AND_ADD -> IbvWcOpcode.IBV_WC_FETCH_ADD;
            case IbvWrOpcode.IBV_WR_LOCAL_INV -> IbvWcOpcode.IBV_WC_LOCAL_INV;
            case IbvWrOpcode.IBV_WR_BIND_MW -> IbvWcOpcode.IBV_WC_BIND_MW;
            case IbvWrOpcode.IBV_WR_ATOMIC_WRITE -> IbvWcOpcode.IBV_WC_ATOMIC_WRITE;
            case PlacementExtensions.IBV_WR_FLUSH -> PlacementExtensions.IBV_WC_FLUSH;
            case IbvWrOpcode.IBV_WR_TSO -> IbvWcOpcode.IBV_WC_TSO;
            default -> IbvWcOpcode.IBV_WC_SEND;
        };
    }

    /** Clears the progress of the slot's last request. */
    void reset() {
        started = false;
        done = false;
        status = IbvWcStatus.IBV_WC_SUCCESS;
        sent = 0;
        received = 0;
        asked = 0;
        askedAgain = false;
        endCount = 0;
        window = null;
        region = null;
        posted = null;
    }

    /** Lets the diagnostics watch the memory until the completion is polled. */
    void watch(Watch watch, Qp qp) {
        Posted request = watch.post(qp.poster, id, completionOpcode(), true, is(IbvSendFlags.IBV_SEND_FENCE), count);
        long left = isAtomic() ? Long.BYTES : length;
        for (int i = 0; i < count && !isInline(); i++) {
            long bytes = Math.min(left, Integer.toUnsignedLong(lengths[i]));
            qp.hca.keys.watch(request, i, lkeys[i], addresses[i], bytes, access(), qp.pd);
            left -= bytes;
        }
        posted = request;
    }

    /** Tells whether the queue pair may use the memory of all entries. Brings no pages in. */
    boolean isAllowed(Qp qp) {
        if (isInline()) {
            return true;
        }
        for (int i = 0; i < count; i++) {
            long bytes = Integer.toUnsignedLong(lengths[i]);
            if (bytes != 0 && !qp.hca.keys.permitsLocal(lkeys[i], addresses[i], bytes, access(), qp)) {
                return false;
            }
        }
        return true;
    }

    private int access() {
        return isAnswered() ? IbvAccessFlags.IBV_ACCESS_LOCAL_WRITE : 0;
    }

    /** Returns the address of bytes from an offset on if they lie in one entry, or else {@link MemoryKey#NONE}. */
    long contiguous(long offset, long bytes, Qp qp) {
        if (isInline()) {
            return inlineAddress + offset;
        }
        long skip = offset;
        for (int i = 0; i < count; i++) {
            long here = Integer.toUnsignedLong(lengths[i]);
            if (skip < here) {
                boolean inside = bytes <= here - skip;
                long place = inside
                        ? qp.hca.keys.translateLocal(lkeys[i], addresses[i] + skip, bytes, 0, qp) : MemoryKey.NONE;
                return place == MemoryKey.NOWHERE ? MemoryKey.NONE : place;
            }
            skip -= here;
        }
        return bytes == 0 ? inlineAddress : MemoryKey.NONE;
    }

    /** Returns what {@link Mr#plain} gives for bytes from an offset on that lie in one entry. */
    long plain(long offset, long bytes, Qp qp) {
        long skip = offset;
        for (int i = 0; i < count && !isInline(); i++) {
            long here = Integer.toUnsignedLong(lengths[i]);
            if (skip < here) {
                return bytes <= here - skip
                        ? qp.hca.keys.plainLocal(lkeys[i], addresses[i] + skip, bytes, access(), qp)
                        : MemoryKey.NONE;
            }
            skip -= here;
        }
        return MemoryKey.NONE;
    }

    /** Copies bytes between the entries and one place. Returns false if an entry's memory may no longer be used. */
    boolean copy(long offset, long place, long bytes, Qp qp) {
        return copy(offset, place, bytes, 0, qp);
    }

    /**
     * Does the same, but leaves out the copy of bytes that are in their entry already.
     *
     * @param placed the address where all the bytes are already; 0 if they are nowhere
     */
    boolean copy(long offset, long from, long all, long placed, Qp qp) {
        boolean scatter = isAnswered();
        long place = from;
        long bytes = all;
        long skip = offset;
        for (int i = 0; i < count && bytes > 0; i++) {
            long here = Integer.toUnsignedLong(lengths[i]);
            if (skip >= here) {
                skip -= here;
                continue;
            }
            long part = Math.min(bytes, here - skip);
            long entry = qp.hca.keys.translateLocal(lkeys[i], addresses[i] + skip, part, access(), qp);
            if (entry == MemoryKey.NONE) {
                return false;
            }
            if (entry == MemoryKey.NOWHERE) {
                if (!scatter) {
                    Memory.at(place, part).fill((byte) 0);
                }
            } else if (!scatter) {
                Memory.copy(entry, place, part);
            } else if ((posted == null || !posted.store(i, skip, place, part)) && !(entry == placed && part == all)) {
                Memory.copy(place, entry, part);
            }
            qp.hca.engine.touched();
            place += part;
            bytes -= part;
            skip = 0;
        }
        return bytes == 0;
    }
}
