package org.kverbs.embedded.internal.wire;

/**
 * Where a difference between two CRC-32s comes from. The CRC is linear: two messages of one length that differ in two
 * bytes have CRCs that differ by those bytes' polynomial times x to the number of bits from its start to the end,
 * modulo the CRC's polynomial. Multiplying by that power's inverse gets the two bytes back.
 *
 * <p>Polynomials are ints, as the CRC has them: the highest bit is the factor of 1, the lowest that of x to the 31.
 */
final class Crc32Algebra {

    /** The CRC's polynomial without x to the 32. */
    private static final int POLYNOMIAL = 0xedb88320;
    private static final int ONE = 0x80000000;
    private static final int BITS = 32;

    /** By a number of bytes: x to minus 8 times as many. */
    private static final int[] BACK = new int[Packet.BUFFER_SIZE + 64];

    static {
        BACK[0] = ONE;
        for (int i = 1; i < BACK.length; i++) {
            int power = BACK[i - 1];
            for (int bit = 0; bit < Byte.SIZE; bit++) {
                power = dividedByX(power);
            }
            BACK[i] = power;
        }
    }

    private Crc32Algebra() {}

    /**
     * Whether it is the difference of the CRCs of two messages that differ in nothing but two bytes, {@code after}
     * bytes from the end.
     */
    static boolean isOfTwoBytes(int difference, int after) {
        return twoBytes(difference, after) >>> 16 == 0;
    }

    /**
     * The difference of the two bytes, the first in bits 0 to 7, the second in 8 to 15; a bit above if two bytes can't
     * explain it.
     */
    static int twoBytes(int difference, int after) {
        return product(difference, BACK[after + 2]);
    }

    private static int product(int a, int b) {
        int sum = 0;
        int shifted = b;
        for (int i = BITS - 1; i >= 0; i--) {
            sum ^= shifted & -(a >>> i & 1);
            shifted = shifted >>> 1 ^ POLYNOMIAL & -(shifted & 1);
        }
        return sum;
    }

    /**
     * Undoes a multiplication by x: the polynomial was added if the factor of 1 is there, as only it could bring that.
     */
    private static int dividedByX(int a) {
        return a < 0 ? (a ^ POLYNOMIAL) << 1 | 1 : a << 1;
    }
}
