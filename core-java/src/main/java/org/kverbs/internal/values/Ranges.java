package org.kverbs.internal.values;

/** Checks numbers against their ranges, with one wording for all exceptions. */
public final class Ranges {
    private Ranges() {}

    /**
     * Returns {@code value} if it is in {@code min..max}.
     *
     * @throws IllegalArgumentException otherwise; the message names {@code what}, the value and the range
     */
    public static int require(String what, int value, int min, int max) {
        return (int) require(what, (long) value, min, max);
    }

    /** Returns {@code value} if it is in {@code min..max}; see {@link #require(String, int, int, int)}. */
    public static long require(String what, long value, long min, long max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(what + " " + value + " is out of range: " + min + " to " + max);
        }
        return value;
    }

    /**
     * Refuses a part that is not inside its whole.
     *
     * @param whole the name of the whole: {@code the memory region}
     * @param offset the first byte of the part, counted from the start of the whole
     * @param length the number of bytes of the part
     * @param size the number of bytes of the whole
     * @throws IndexOutOfBoundsException if the part begins or ends outside; the message names the part, the whole and
     *     its size
     */
    public static void requirePart(String whole, long offset, long length, long size) {
        requireOffset(whole, offset, size);
        if (length < 0) {
            throw new IndexOutOfBoundsException("length " + length + " of a part of " + whole + " is below zero");
        }
        if (length > size - offset) {
            throw new IndexOutOfBoundsException(
                    length + " bytes at offset " + offset + " reach beyond " + whole + " of " + size + " bytes");
        }
    }

    /**
     * Refuses an offset outside a whole of {@code size} bytes. The end of the whole is allowed. See {@link
     * #requirePart}.
     */
    public static void requireOffset(String whole, long offset, long size) {
        if (offset < 0 || offset > size) {
            throw new IndexOutOfBoundsException("offset " + offset + " is outside " + whole + " of " + size + " bytes");
        }
    }
}
