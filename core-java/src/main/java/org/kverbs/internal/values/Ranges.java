package org.kverbs.internal.values;

/** The one wording for a number that is out of its range. */
public final class Ranges {
    private Ranges() {}

    /**
     * Returns {@code value} if it is in {@code min..max}.
     *
     * @throws IllegalArgumentException otherwise; it names {@code what}, the value and the range
     */
    public static int require(String what, int value, int min, int max) {
        return (int) require(what, (long) value, min, max);
    }

    /** As {@link #require(String, int, int, int)}, for longs. */
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
     * @param offset bytes from the start of the whole
     * @param length bytes of the part
     * @param size bytes of the whole
     * @throws IndexOutOfBoundsException if the part begins or ends outside; it names the part, the whole and its size
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

    /** Refuses an offset outside of a whole of {@code size} bytes, as {@link #requirePart}; its end is allowed. */
    public static void requireOffset(String whole, long offset, long size) {
        if (offset < 0 || offset > size) {
            throw new IndexOutOfBoundsException("offset " + offset + " is outside " + whole + " of " + size + " bytes");
        }
    }
}
