package org.kverbs.embedded.internal.wire;

import org.kverbs.internal.memory.Memory;

/** The checksum of IPv4, TCP and UDP (RFC 1071). */
final class InternetChecksum {

    private InternetChecksum() {}

    /** Adds the 16-bit words of a range; a last odd byte is the upper half of one. */
    static long sum(long at, int count) {
        long sum = 0;
        for (int i = 0; i + 1 < count; i += 2) {
            sum += Byte.toUnsignedInt(Memory.getByte(at + i)) << 8 | Byte.toUnsignedInt(Memory.getByte(at + i + 1));
        }
        return count % 2 == 0 ? sum : sum + (Byte.toUnsignedInt(Memory.getByte(at + count - 1)) << 8);
    }

    /** Returns the checksum for a sum of words, in the lower 16 bits. */
    static int complement(long sum) {
        long folded = sum;
        while (folded > 0xffff) {
            folded = (folded & 0xffff) + (folded >>> 16);
        }
        return (int) ~folded;
    }

    /** Returns the checksum of a range. */
    static int of(long at, int count) {
        return complement(sum(at, count));
    }
}
