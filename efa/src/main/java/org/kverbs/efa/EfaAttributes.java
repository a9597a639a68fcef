package org.kverbs.efa;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.MemorySegment;
import org.kverbs.efa.internal.abi.EfadvDeviceAttr;
import org.kverbs.efa.internal.abi.EfadvDeviceAttrCaps;

/**
 * What an EFA device says of itself ({@code struct efadv_device_attr}, {@code man 3 efadv_query_device}).
 *
 * @param maxSendWr how many requests a send queue has room for at most
 * @param maxReceiveWr how many requests a receive queue has room for at most
 * @param maxSendSge how many buffers a send has at most
 * @param maxReceiveSge how many buffers a receive has at most
 * @param inlineSize how many bytes a request carries inline at most
 * @param capabilities {@code EFADV_DEVICE_ATTR_CAPS_*}, a mask
 * @param maxRdmaSize how many bytes a read or a write has at most
 */
public record EfaAttributes(
        int maxSendWr,
        int maxReceiveWr,
        int maxSendSge,
        int maxReceiveSge,
        int inlineSize,
        int capabilities,
        int maxRdmaSize) {

    /** EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE, which efadv.h has since rdma-core 46. */
    private static final int RDMA_WRITE = 1 << 3;

    static EfaAttributes read(MemorySegment answer) {
        return new EfaAttributes(
                answer.get(JAVA_INT, EfadvDeviceAttr.MAX_SQ_WR),
                answer.get(JAVA_INT, EfadvDeviceAttr.MAX_RQ_WR),
                shortAt(answer, EfadvDeviceAttr.MAX_SQ_SGE),
                shortAt(answer, EfadvDeviceAttr.MAX_RQ_SGE),
                shortAt(answer, EfadvDeviceAttr.INLINE_BUF_SIZE),
                answer.get(JAVA_INT, EfadvDeviceAttr.DEVICE_CAPS),
                answer.get(JAVA_INT, EfadvDeviceAttr.MAX_RDMA_SIZE));
    }

    private static int shortAt(MemorySegment answer, int offset) {
        return Short.toUnsignedInt(answer.get(JAVA_SHORT, offset));
    }

    private boolean has(int capability) {
        return (capabilities & capability) != 0;
    }

    /** Returns whether SRD queue pairs have RDMA reads. */
    public boolean hasRead() {
        return has(EfadvDeviceAttrCaps.EFADV_DEVICE_ATTR_CAPS_RDMA_READ);
    }

    /** Returns whether SRD queue pairs have RDMA writes, with and without immediate. */
    public boolean hasWrite() {
        return has(RDMA_WRITE);
    }

    /** Returns whether an SRD queue pair can be told how often to send again to a peer without a receive. */
    public boolean hasRnrRetry() {
        return has(EfadvDeviceAttrCaps.EFADV_DEVICE_ATTR_CAPS_RNR_RETRY);
    }

    /** Returns whether a completion of a receive can name the GID of an unknown sender. */
    public boolean hasSourceGid() {
        return has(EfadvDeviceAttrCaps.EFADV_DEVICE_ATTR_CAPS_CQ_WITH_SGID);
    }
}
