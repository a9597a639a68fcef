package org.kverbs.attributes;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.IbvQpRateLimitAttr;
import org.kverbs.internal.values.Ranges;
import org.kverbs.internal.values.Structure;

/**
 * The limit of the rate at which a queue pair sends: {@code struct ibv_qp_rate_limit_attr}
 * (ibv_modify_qp_rate_limit(3)). {@code DeviceAttributesEx.packetPacing} has the limits of the device.
 *
 * @param kbps the highest rate, in kilobits a second; 0 ends the limit
 * @param maxBurstBytes the longest burst, in bytes; 0 for the default of the device
 * @param typicalPacketBytes the usual size of the packets, in bytes, up to 65,535; 0 for that of the port's MTU
 */
public record RateLimit(long kbps, long maxBurstBytes, int typicalPacketBytes) {

    /** No limit. The driver bnxt_re cannot end a limit and refuses this one: set the highest rate there. */
    public static final RateLimit NONE = new RateLimit(0, 0, 0);

    private static final long MOST = 0xffff_ffffL;

    static {
        Structure.offer(RateLimit.class, RateLimit::from, RateLimit::writeTo);
    }

    /**
     * Checks that each number is in its range.
     *
     * @throws IllegalArgumentException if one is out of its range; the message names it
     */
    public RateLimit {
        Ranges.require("kbps", kbps, 0, MOST);
        Ranges.require("maxBurstBytes", maxBurstBytes, 0, MOST);
        Ranges.require("typicalPacketBytes", typicalPacketBytes, 0, 0xffff);
    }

    /** Returns a limit with the device's defaults for bursts and packets. */
    public static RateLimit ofKbps(long kbps) {
        return new RateLimit(kbps, 0, 0);
    }

    /** Reads the C structure at the start of a segment. */
    static RateLimit from(MemorySegment segment) {
        return new RateLimit(
                Integer.toUnsignedLong(segment.get(JAVA_INT, IbvQpRateLimitAttr.RATE_LIMIT)),
                Integer.toUnsignedLong(segment.get(JAVA_INT, IbvQpRateLimitAttr.MAX_BURST_SZ)),
                Short.toUnsignedInt(segment.get(JAVA_SHORT, IbvQpRateLimitAttr.TYPICAL_PKT_SZ)));
    }

    /** Writes the C structure at the start of a segment. */
    void writeTo(MemorySegment segment) {
        segment.set(JAVA_INT, IbvQpRateLimitAttr.RATE_LIMIT, (int) kbps);
        segment.set(JAVA_INT, IbvQpRateLimitAttr.MAX_BURST_SZ, (int) maxBurstBytes);
        segment.set(JAVA_SHORT, IbvQpRateLimitAttr.TYPICAL_PKT_SZ, (short) typicalPacketBytes);
        segment.set(JAVA_INT, IbvQpRateLimitAttr.COMP_MASK, 0);
    }
}
