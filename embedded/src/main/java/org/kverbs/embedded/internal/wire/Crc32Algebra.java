package org.kverbs.embedded.internal.wire;

/**
 * Traces the difference of two CRC-32s back to two bytes. The CRC is linear: if two messages of one length differ in
 * two bytes, their CRCs differ by the polynomial of those bytes times x to the number of bits from there to the end,
 * modulo the CRC's polynomial. A multiplication by the inverse of that power returns the two bytes.
 *
 * <p>Polynomials are ints in the CRC's bit order: the highest bit is the factor of 1, the lowest that of x to the 31.
 */
final class Crc32Algebra {

    /** The CRC's polynomial without x to the 32. */
    private static final int POLYNOMIAL = 0xedb88320;
    private static final int ONE = 0x80000000;
    private static final int BITS = 32;

    /** By a number of bytes: x to the power of minus 8 times the number. */
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
     * Tells whether the CRCs of two messages have this difference if the messages differ only in two bytes, {@code
     * after} bytes from the end.
     */
    static boolean isOfTwoBytes(int difference, int after) {
        return twoBytes(difference, after) >>> 16 == 0;
    }

    /**
     * Returns the difference of the two bytes, the first in bits 0 to 7, the second in 8 to 15. If a higher bit is set,
     * two bytes cannot explain the difference.
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
     * Undoes a multiplication by x. If the factor of 1 is set, the multiplication added the polynomial, since only that
     * sets it.
     */
    private static int dividedByX(int a) {
        return a < 0 ? (a ^ POLYNOMIAL) << 1 | 1 : a << 1;
    }
}
