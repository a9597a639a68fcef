package org.kverbs;

/** The one wording for a number that is out of its range. */
final class Ranges {
    private Ranges() {}

    /**
     * Returns {@code value} if it is in {@code min..max}.
     *
     * @throws IllegalArgumentException otherwise; it names {@code what}, the value and the range
     */
    static int require(String what, int value, int min, int max) {
        return (int) require(what, (long) value, min, max);
    }

    /** As {@link #require(String, int, int, int)}, for longs. */
    static long require(String what, long value, long min, long max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(what + " " + value + " is out of range: " + min + " to " + max);
        }
        return value;
    }
}
