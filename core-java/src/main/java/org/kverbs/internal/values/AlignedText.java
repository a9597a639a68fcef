package org.kverbs.internal.values;

/** A text of {@code Name : value} lines whose colons stand in one column. */
public final class AlignedText {
    private final int width;
    private final StringBuilder text = new StringBuilder();

    /** Starts a text whose names take {@code width} characters each. */
    public AlignedText(int width) {
        this.width = width;
    }

    /** Adds one line. */
    public AlignedText line(String name, Object value) {
        if (!text.isEmpty()) {
            text.append('\n');
        }
        text.append(name).repeat(' ', Math.max(0, width - name.length())).append(": ").append(value);
        return this;
    }

    /** Adds one line with {@code value} as an unsigned hexadecimal number. */
    public AlignedText hex(String name, long value) {
        return line(name, "0x" + Long.toHexString(value));
    }

    /** Adds the lines of {@code block} as they are. */
    public AlignedText lines(String block) {
        if (!text.isEmpty()) {
            text.append('\n');
        }
        text.append(block);
        return this;
    }

    /** Returns the lines, without a line end after the last. */
    @Override
    public String toString() {
        return text.toString();
    }
}
