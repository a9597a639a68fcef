package org.kverbs.embedded.internal.transport;

import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.objects.Limits;
import org.kverbs.embedded.internal.wire.SegmentHeader;
import org.kverbs.internal.Refusal;
import org.kverbs.internal.SegmentedSend;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvQpType;
import org.kverbs.internal.abi.IbvSendFlags;

/**
 * The segments of a posted send that the device cuts (IBV_WR_TSO), with the progress of their sending. A slot of a send
 * queue has one from its first such send on.
 */
final class Segments {

    private final SegmentHeader header;
    private int size;
    private int count;
    private int sent;

    private Segments(int maxHeader) {
        header = new SegmentHeader(maxHeader);
    }

    /** Reads a {@code struct ibv_send_wr} whose entries were read. Returns 0 or -errno. */
    static int read(SendWqe wqe, long request, Qp qp) {
        if (wqe.isInline()) {
            return Refusal.because(Errno.EINVAL, "A send that is segmented carries nothing inline but its header.");
        }
        if (wqe.length == 0 || wqe.length > Limits.SEGMENTED) {
            return Refusal.because(
                    Errno.EINVAL,
                    "The payload has %d bytes, and the device segments 1 to %d."
                            .formatted(wqe.length, Limits.SEGMENTED));
        }
        Segments segments = wqe.segments == null ? new Segments(qp.sends.maxTsoHeader()) : wqe.segments;
        String wrong = segments.read(request, wqe.length, qp.type == IbvQpType.IBV_QPT_RAW_PACKET);
        if (wrong != null) {
            return Refusal.because(Errno.EINVAL, wrong);
        }
        wqe.segments = segments;
        return 0;
    }

    private @Nullable String read(long request, long payload, boolean isFrame) {
        size = SegmentedSend.segmentSize(request);
        if (size == 0) {
            return "A segment needs a size: mss is 0.";
        }
        count = (int) ((payload + size - 1) / size);
        sent = 0;
        return header.read(SegmentedSend.header(request), SegmentedSend.headerLength(request), isFrame);
    }

    /** Tells whether any segment was sent. */
    boolean isBegun() {
        return sent > 0;
    }

    /** Tells whether all segments were sent. */
    boolean isSent() {
        return sent == count;
    }

    /** Returns the length of the next segment with its headers. */
    int nextLength(SendWqe wqe) {
        return header.length() + (int) Math.min(size, wqe.length - (long) sent * size);
    }

    /** Writes the next segment. Returns false if an entry's memory may no longer be used. */
    boolean writeNext(SendWqe wqe, long place, Qp qp) {
        int payload = nextLength(wqe) - header.length();
        long offset = (long) sent * size;
        if (!wqe.copy(offset, place + header.length(), payload, qp)) {
            return false;
        }
        boolean hasChecksums = wqe.is(IbvSendFlags.IBV_SEND_IP_CSUM);
        header.write(place, sent, offset, payload, sent + 1 == count, hasChecksums);
        sent++;
        return true;
    }
}
