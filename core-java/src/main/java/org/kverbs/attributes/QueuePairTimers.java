package org.kverbs.attributes;

import java.time.Duration;
import org.kverbs.internal.values.Ranges;

/** Converts the times of the two timers of a reliable queue pair. A device takes them as codes of five bits. */
public final class QueuePairTimers {
    /** The unit of acknowledgement timeouts: 4.096 us. */
    private static final long ACK_UNIT_NANOS = 4096;

    private static final int MAX_CODE = 31;

    /**
     * The times of the "receiver not ready" codes 1 to 31, then of code 0, in units of 10 us (IBA volume 1, section
     * 9.7.5.2.8).
     */
    private static final int[] RNR_TENS_OF_MICROS = {
        1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144,
                8192,
        12288, 16384, 24576, 32768, 49152, 65536
    };

    private QueuePairTimers() {}

    /**
     * Returns the shortest acknowledgement timeout that is at least {@code time}, as a code: n stands for 4.096 us *
     * 2^n (IBA volume 1, section 9.7.6.1.3). A device can wait up to four times as long and can have a minimum of its
     * own.
     *
     * @throws IllegalArgumentException if {@code time} is not positive or is longer than the 2.4 hours of code 31; code
     *     0 stands for no timeout and has no duration
     */
    public static int ackTimeoutCode(Duration time) {
        for (int code = 1; code <= MAX_CODE; code++) {
            if (time.isPositive() && ackTimeout(code).compareTo(time) >= 0) {
                return code;
            }
        }
        throw new IllegalArgumentException(
                "acknowledgement timeout " + time + " is out of range: more than zero, up to " + ackTimeout(MAX_CODE));
    }

    /**
     * Returns the time that the acknowledgement timeout {@code code} stands for.
     *
     * @throws IllegalArgumentException if {@code code} is not in 1 to 31; 0 stands for no timeout
     */
    public static Duration ackTimeout(int code) {
        return Duration.ofNanos(ACK_UNIT_NANOS << Ranges.require("acknowledgement timeout code", code, 1, MAX_CODE));
    }

    /**
     * Returns the shortest "receiver not ready" time that is at least {@code time}, as a code: from 1 for 10 us to 31
     * for 491.52 ms, and 0 for 655.36 ms.
     *
     * @throws IllegalArgumentException if {@code time} is negative or longer than 655.36 ms
     */
    public static int rnrTimerCode(Duration time) {
        for (int index = 0; index <= MAX_CODE && !time.isNegative(); index++) {
            int code = (index + 1) & MAX_CODE;
            if (rnrTimer(code).compareTo(time) >= 0) {
                return code;
            }
        }
        throw new IllegalArgumentException("receiver-not-ready time " + time + " is out of range: zero to "
                + rnrTimer(0));
    }

    /**
     * Returns the time that the "receiver not ready" timer {@code code} stands for: 0 for 655.36 ms, 1 for 10 us, and
     * then rising by a half or a third at each step up to 31 for 491.52 ms.
     *
     * @throws IllegalArgumentException if {@code code} is not in 0 to 31
     */
    public static Duration rnrTimer(int code) {
        Ranges.require("receiver-not-ready timer code", code, 0, MAX_CODE);
        return Duration.ofNanos(10_000L * RNR_TENS_OF_MICROS[(code + MAX_CODE) & MAX_CODE]);
    }
}
