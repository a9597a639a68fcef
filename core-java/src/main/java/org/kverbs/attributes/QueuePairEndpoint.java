package org.kverbs.attributes;

import java.nio.ByteBuffer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.kverbs.QueuePair;
import org.kverbs.internal.values.Ranges;

/**
 * What a peer must know of a queue pair to connect to it or to send to it. Made by {@link QueuePair#endpoint} over
 * there, sent to here as text or bytes by any means, and parsed.
 *
 * @param lid the port's LID, 16 bits; 0 on Ethernet
 * @param gid the port's GID; all zero if packets need none (InfiniBand within a subnet)
 * @param queuePairNumber 24 bits
 * @param psn the number of the first packet it sends, 24 bits
 * @param mtu the largest path MTU it can use, bytes; 0 if it didn't say
 * @param qkey for UD: the key a message to it must carry; 0 otherwise
 */
public record QueuePairEndpoint(int lid, Gid gid, int queuePairNumber, int psn, int mtu, int qkey) {

    /** Size of the form in bytes. */
    public static final int BYTES = 32;

    private static final Pattern TEXT = Pattern.compile(
            "qp:([0-9a-fA-F]{4}):([0-9a-fA-F]{6}):([0-9a-fA-F]{6}):([0-9a-fA-F]{32}):([0-9]{1,5}):([0-9a-fA-F]{8})");
    private static final int MAX_24_BITS = 0xffffff;

    /** Checks that all are in range. */
    public QueuePairEndpoint {
        Ranges.require("lid", lid, 0, 0xffff);
        Ranges.require("queuePairNumber", queuePairNumber, 0, MAX_24_BITS);
        Ranges.require("psn", psn, 0, MAX_24_BITS);
        if (mtu != 0) {
            Mtu.ofBytes(mtu);
        }
    }

    /** The form as text: {@code qp:LID:QPN:PSN:GID:MTU:QKEY}, hexadecimal but for the MTU. */
    public String toText() {
        return "qp:%04x:%06x:%06x:%s:%d:%08x".formatted(lid, queuePairNumber, psn, gid.toWire(), mtu, qkey);
    }

    /**
     * Reads {@link #toText}'s form. Nothing that a peer sends does more than fail here.
     *
     * @throws IllegalArgumentException if it isn't one
     */
    public static QueuePairEndpoint parse(String text) {
        Matcher parts = TEXT.matcher(text);
        if (!parts.matches()) {
            String shown = text.length() <= 100 ? text : text.substring(0, 100) + "...";
            throw new IllegalArgumentException(
                    "not a queue pair endpoint: expected qp:LID:QPN:PSN:GID:MTU:QKEY, got '" + shown + "'");
        }
        return new QueuePairEndpoint(
                Integer.parseInt(parts.group(1), 16),
                Gid.parse(parts.group(4)),
                Integer.parseInt(parts.group(2), 16),
                Integer.parseInt(parts.group(3), 16),
                Integer.parseInt(parts.group(5)),
                Integer.parseUnsignedInt(parts.group(6), 16));
    }

    /**
     * The form as {@value #BYTES} bytes, each field in network order: lid 2, mtu 2, number 4, psn 4, qkey 4, gid 16.
     */
    public byte[] toBytes() {
        return ByteBuffer.allocate(BYTES)
                .putShort((short) lid)
                .putShort((short) mtu)
                .putInt(queuePairNumber)
                .putInt(psn)
                .putInt(qkey)
                .put(gid.bytes())
                .array();
    }

    /**
     * Reads {@link #toBytes}'s form.
     *
     * @throws IllegalArgumentException if there are not {@value #BYTES} bytes or a field is out of range
     */
    public static QueuePairEndpoint of(byte[] bytes) {
        if (bytes.length != BYTES) {
            throw new IllegalArgumentException("a queue pair endpoint has " + BYTES + " bytes, got " + bytes.length);
        }
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        int lid = Short.toUnsignedInt(buffer.getShort());
        int mtu = Short.toUnsignedInt(buffer.getShort());
        int number = buffer.getInt();
        int psn = buffer.getInt();
        int qkey = buffer.getInt();
        byte[] gid = new byte[16];
        buffer.get(gid);
        return new QueuePairEndpoint(lid, Gid.of(gid), number, psn, mtu, qkey);
    }
}
