package org.kverbs.attributes;

import java.nio.ByteBuffer;

/**
 * The short text form of a GID, as the C library's inet_ntop(3) writes an IPv6 address (RFC 5952, sections 4 and 5).
 */
final class GidText {
    private static final int GROUPS = 8;

    private GidText() {}

    /** Returns the short form of the 16 bytes of a GID. */
    static String compact(byte[] bytes) {
        int[] groups = new int[GROUPS];
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        for (int i = 0; i < GROUPS; i++) {
            groups[i] = Short.toUnsignedInt(buffer.getShort());
        }
        int start = longestZeroRun(groups);
        int length = start < 0 ? 0 : zeroRun(groups, start);
        // IPv4-mapped addresses, and the old IPv4-compatible ones, end in dotted form.
        boolean dotted = start == 0 && (length == 6 || length == 5 && groups[5] == 0xffff);
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < (dotted ? 6 : GROUPS); i++) {
            if (i == start) {
                text.append("::");
                i += length - 1;
            } else {
                separate(text).append(Integer.toHexString(groups[i]));
            }
        }
        if (dotted) {
            separate(text).append(bytes[12] & 0xff).append('.').append(bytes[13] & 0xff);
            text.append('.').append(bytes[14] & 0xff).append('.').append(bytes[15] & 0xff);
        }
        return text.toString();
    }

    private static StringBuilder separate(StringBuilder text) {
        return text.isEmpty() || text.charAt(text.length() - 1) == ':' ? text : text.append(':');
    }

    /** Returns the index of the first longest run of two or more zero groups, or -1 if there is none. */
    private static int longestZeroRun(int[] groups) {
        int best = -1;
        for (int i = 0; i < GROUPS; i++) {
            if (zeroRun(groups, i) > (best < 0 ? 1 : zeroRun(groups, best))) {
                best = i;
            }
        }
        return best;
    }

    private static int zeroRun(int[] groups, int start) {
        int end = start;
        while (end < GROUPS && groups[end] == 0) {
            end++;
        }
        return end - start;
    }
}
