package org.kverbs;

import java.nio.ByteBuffer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.kverbs.internal.values.Ranges;

/**
 * The address, length and key of a peer's memory, for one-sided operations. {@link MemoryRegion#remote} makes it. The
 * program sends it to the peer as text or bytes, over a socket for example, and the peer parses it.
 *
 * @param address the address of the first byte in the peer's region
 * @param length the number of bytes
 * @param rkey the key that gives access
 */
public record RemoteMemory(long address, long length, int rkey) {

    /** The size of the binary form, in bytes. */
    public static final int BYTES = 20;

    private static final Pattern TEXT =
            Pattern.compile("mem:([0-9a-fA-F]{1,16}):([0-9]{1,19}):([0-9a-fA-F]{1,8})");

    /**
     * Returns the part of this memory from an offset to the end.
     *
     * @throws IndexOutOfBoundsException if the offset is negative or beyond the end
     */
    public RemoteMemory at(long offset) {
        Ranges.requireOffset("the remote memory", offset, length);
        return slice(offset, length - offset);
    }

    /**
     * Returns a part of this memory.
     *
     * @throws IndexOutOfBoundsException if the part reaches beyond the end
     */
    public RemoteMemory slice(long offset, long newLength) {
        Ranges.requirePart("the remote memory", offset, newLength, length);
        return new RemoteMemory(address + offset, newLength, rkey);
    }

    /**
     * Returns the address of the first byte of a part. Makes no object, as {@link #slice} does.
     *
     * @param offset the first byte of the part, counted from the start of this memory
     * @param partLength the number of bytes
     * @throws IndexOutOfBoundsException if the part reaches beyond the end
     */
    public long addressAt(long offset, long partLength) {
        Ranges.requirePart("the remote memory", offset, partLength, length);
        return address + offset;
    }

    /**
     * Returns the text form {@code mem:ADDRESS:LENGTH:RKEY}. The address and the key are hexadecimal, the length is
     * decimal.
     */
    public String toText() {
        return "mem:%x:%d:%x".formatted(address, length, rkey);
    }

    /**
     * Parses the form of {@link #toText}. Safe for text from an untrusted peer.
     *
     * @throws IllegalArgumentException if the text does not have that form
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

    /** Returns the binary form of {@value #BYTES} bytes: address, length and rkey, each in network order. */
    public byte[] toBytes() {
        return ByteBuffer.allocate(BYTES).putLong(address).putLong(length).putInt(rkey).array();
    }

    /**
     * Parses the form of {@link #toBytes}. Safe for bytes from an untrusted peer.
     *
     * @throws IllegalArgumentException if there are not {@value #BYTES} bytes or the length is below zero
     */
    public static RemoteMemory of(byte[] bytes) {
        if (bytes.length != BYTES) {
            throw new IllegalArgumentException("a remote memory has " + BYTES + " bytes, got " + bytes.length
                    + ": give what toBytes returned");
        }
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        return new RemoteMemory(buffer.getLong(), buffer.getLong(), buffer.getInt());
    }

    /**
     * Checks the length.
     *
     * @throws IllegalArgumentException if the length is negative
     */
    public RemoteMemory {
        if (length < 0) {
            throw new IllegalArgumentException(
                    "length " + length + " of a remote memory is below zero: give 0 or more");
        }
    }
}
