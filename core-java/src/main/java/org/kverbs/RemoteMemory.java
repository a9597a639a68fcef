package org.kverbs;

import java.nio.ByteBuffer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.kverbs.internal.values.Ranges;

/**
 * Memory of a peer: what one-sided operations need to know of it. Made by {@link MemoryRegion#remote} over there, sent
 * to here as text or bytes by any means, and parsed.
 *
 * @param address where it begins, in the peer's numbering
 * @param length bytes
 * @param rkey the key that admits to it
 */
public record RemoteMemory(long address, long length, int rkey) {

    /** Size of the form in bytes. */
    public static final int BYTES = 20;

    private static final Pattern TEXT =
            Pattern.compile("mem:([0-9a-fA-F]{1,16}):([0-9]{1,19}):([0-9a-fA-F]{1,8})");

    /**
     * The rest of it from an offset on.
     *
     * @throws IndexOutOfBoundsException if the offset is beyond the end
     */
    public RemoteMemory at(long offset) {
        Ranges.requireOffset("the remote memory", offset, length);
        return slice(offset, length - offset);
    }

    /**
     * A part of it.
     *
     * @throws IndexOutOfBoundsException if it reaches beyond the end
     */
    public RemoteMemory slice(long offset, long newLength) {
        Ranges.requirePart("the remote memory", offset, newLength, length);
        return new RemoteMemory(address + offset, newLength, rkey);
    }

    /** The form as text: {@code mem:ADDRESS:LENGTH:RKEY}, address and key in hexadecimal, length in decimal digits. */
    public String toText() {
        return "mem:%x:%d:%x".formatted(address, length, rkey);
    }

    /**
     * Reads {@link #toText}'s form. Nothing that a peer sends does more than fail here.
     *
     * @throws IllegalArgumentException if it isn't one
     */
    public static RemoteMemory parse(String text) {
        Matcher parts = TEXT.matcher(text);
        if (!parts.matches()) {
            throw new IllegalArgumentException("not a remote memory: expected mem:ADDRESS:LENGTH:RKEY, got '"
                    + shortened(text) + "'");
        }
        try {
            return new RemoteMemory(
                    Long.parseUnsignedLong(parts.group(1), 16),
                    Long.parseLong(parts.group(2)),
                    Integer.parseUnsignedInt(parts.group(3), 16));
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("not a remote memory, its length is too large: '" + shortened(text)
                    + "'", e);
        }
    }

    private static String shortened(String text) {
        return text.length() <= 80 ? text : text.substring(0, 80) + "...";
    }

    /** The form as {@value #BYTES} bytes: address, length, rkey, each in network order. */
    public byte[] toBytes() {
        return ByteBuffer.allocate(BYTES).putLong(address).putLong(length).putInt(rkey).array();
    }

    /**
     * Reads {@link #toBytes}'s form.
     *
     * @throws IllegalArgumentException if there are not {@value #BYTES} bytes or the length is below zero
     */
    public static RemoteMemory of(byte[] bytes) {
        if (bytes.length != BYTES) {
            throw new IllegalArgumentException("a remote memory has " + BYTES + " bytes, got " + bytes.length);
        }
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        return new RemoteMemory(buffer.getLong(), buffer.getLong(), buffer.getInt());
    }

    /** Refuses a length below zero. */
    public RemoteMemory {
        if (length < 0) {
            throw new IllegalArgumentException("length " + length + " of a remote memory is below zero");
        }
    }
}
