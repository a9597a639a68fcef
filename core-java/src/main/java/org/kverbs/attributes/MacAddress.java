package org.kverbs.attributes;

import java.util.HexFormat;
import org.kverbs.internal.values.Ranges;

/**
 * An Ethernet address of 48 bits.
 *
 * @param value the bits; the first byte on the wire is the highest of the 48
 */
public record MacAddress(long value) {

    /** The number of bytes on the wire. */
    public static final int LENGTH = 6;

    private static final HexFormat COLONS = HexFormat.ofDelimiter(":");

    /** The address of all stations: {@code ff:ff:ff:ff:ff:ff}. */
    public static final MacAddress BROADCAST = new MacAddress(0xffff_ffff_ffffL);

    /** Checks that the value has 48 bits. */
    public MacAddress {
        Ranges.require("the value of a MAC address", value, 0, 0xffff_ffff_ffffL);
    }

    /**
     * Reads the usual text form, six bytes in hexadecimal with colons: {@code 02:00:5e:10:00:01}.
     *
     * @throws IllegalArgumentException if the text has another form
     */
    public static MacAddress parse(String text) {
        byte[] bytes;
        try {
            bytes = COLONS.parseHex(text);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(noAddress(text), e);
        }
        if (bytes.length != LENGTH) {
            throw new IllegalArgumentException(noAddress(text));
        }
        long value = 0;
        for (byte each : bytes) {
            value = value << Byte.SIZE | Byte.toUnsignedInt(each);
        }
        return new MacAddress(value);
    }

    private static String noAddress(String text) {
        return "'" + text + "' is no MAC address; an example of one is 02:00:5e:10:00:01.";
    }

    /** Returns a copy of the six bytes in the order of the wire. */
    public byte[] toBytes() {
        byte[] bytes = new byte[LENGTH];
        for (int i = 0; i < LENGTH; i++) {
            bytes[i] = (byte) (value >> (LENGTH - 1 - i) * Byte.SIZE);
        }
        return bytes;
    }

    /** Returns whether this is the address of a group; {@link #BROADCAST} is one. */
    public boolean isMulticast() {
        return (value >> 40 & 1) != 0;
    }

    /** Returns the usual text form. */
    @Override
    public String toString() {
        return COLONS.formatHex(toBytes());
    }
}
