package org.kverbs.attributes;

import java.nio.ByteBuffer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.kverbs.QueuePair;
import org.kverbs.internal.values.Ranges;

/**
 * The data by which a peer connects to a queue pair or sends to it. {@link QueuePair#endpoint} makes it. The program
 * sends it to the peer as text or bytes, over a socket for example, and the peer parses it.
 *
 * @param lid the LID of the port, 16 bits; 0 on Ethernet
 * @param gid the GID of the port; all zero if packets need none (InfiniBand within a subnet)
 * @param queuePairNumber the number of the queue pair, 24 bits
 * @param psn the sequence number of the first packet that the queue pair sends, 24 bits
 * @param mtu the largest path MTU of the queue pair, in bytes; 0 if unknown
 * @param qkey the key that a message to a UD queue pair must carry; 0 for other types
 */
public record QueuePairEndpoint(int lid, Gid gid, int queuePairNumber, int psn, int mtu, int qkey) {

    /** The size of the binary form, in bytes. */
    public static final int BYTES = 32;

    private static final Pattern TEXT = Pattern.compile(
            "qp:([0-9a-fA-F]{4}):([0-9a-fA-F]{6}):([0-9a-fA-F]{6}):([0-9a-fA-F]{32}):([0-9]{1,5}):([0-9a-fA-F]{8})");
    private static final int MAX_24_BITS = 0xffffff;

    /**
     * Checks the numbers.
     *
     * @throws IllegalArgumentException if a number is out of its range; the message names it
     */
    public QueuePairEndpoint {
        Ranges.require("lid", lid, 0, 0xffff);
        Ranges.require("queuePairNumber", queuePairNumber, 0, MAX_24_BITS);
        Ranges.require("psn", psn, 0, MAX_24_BITS);
        if (mtu != 0) {
            Mtu.ofBytes(mtu);
        }
    }

    /** Returns the text form {@code qp:LID:QPN:PSN:GID:MTU:QKEY}. The MTU is decimal, all others are hexadecimal. */
    public String toText() {
        return "qp:%04x:%06x:%06x:%s:%d:%08x".formatted(lid, queuePairNumber, psn, gid.toWire(), mtu, qkey);
    }

    /**
     * Parses the form of {@link #toText}. Safe for text from an untrusted peer.
     *
     * @throws IllegalArgumentException if the text does not have that form
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
     * Returns the binary form of {@value #BYTES} bytes, each field in network order: lid 2, mtu 2, number 4, psn 4,
     * qkey 4, gid 16.
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
     * Parses the form of {@link #toBytes}. Safe for bytes from an untrusted peer.
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
