package org.kverbs.embedded.internal.cm;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.cm.Message.Apr;
import org.kverbs.embedded.internal.cm.Message.Drep;
import org.kverbs.embedded.internal.cm.Message.Dreq;
import org.kverbs.embedded.internal.cm.Message.Lap;
import org.kverbs.embedded.internal.cm.Message.Mra;
import org.kverbs.embedded.internal.cm.Message.Rej;
import org.kverbs.embedded.internal.cm.Message.Rep;
import org.kverbs.embedded.internal.cm.Message.Req;
import org.kverbs.embedded.internal.cm.Message.Rtu;
import org.kverbs.embedded.internal.cm.Message.SidrRep;
import org.kverbs.embedded.internal.cm.Message.SidrReq;
import org.kverbs.embedded.internal.transport.Gsi;

/**
 * Encodes and decodes a message of the connection manager as a management datagram of class 7, version 2 (IBA volume 1,
 * 13.4.2 and 12.6).
 *
 * @param transaction the transaction id; an answer has that of its request
 */
public record Mad(long transaction, Message message) {

    private static final int HEADER = 24;
    /** The attribute modifier in the header; in a REQ and a REP it holds the vendor's options. */
    private static final int MODIFIER = 20;
    /** Base version 1, class 7, class version 2, method Send. */
    private static final int KIND = 0x01_07_02_03;
    private static final int PERMISSIVE_LID = 0xffff;

    /** Returns the datagram's bytes. Private data that is too long throws: the caller must check its length. */
    public byte[] encode() {
        var bytes = new byte[Gsi.MAD];
        ByteBuffer b = ByteBuffer.wrap(bytes);
        b.putInt(KIND).putInt(0).putLong(transaction).putShort((short) message.attribute());
        b.position(HEADER);
        switch (message) {
            case Req m -> encode(b, m);
            case Mra m -> {
                ids(b, m.localId(), m.remoteId()).put((byte) (m.about() << 6)).put((byte) (m.serviceTimeout() << 3));
                b.put(m.privateData());
            }
            case Rej m -> {
                ids(b, m.localId(), m.remoteId()).put((byte) (m.about() << 6))
                        .put((byte) (m.information().length << 1));
                b.putShort((short) m.reason()).put(padded(m.information(), Rej.INFORMATION)).put(m.privateData());
            }
            case Rep m -> encode(b, m);
            case Rtu m -> ids(b, m.localId(), m.remoteId()).put(m.privateData());
            case Dreq m -> ids(b, m.localId(), m.remoteId()).putInt(m.remoteQpn() << 8).put(m.privateData());
            case Drep m -> ids(b, m.localId(), m.remoteId()).put(m.privateData());
            case SidrReq m -> b.putInt(m.requestId()).putInt(m.pkey() << 16).putLong(m.service()).put(m.privateData());
            case SidrRep m -> {
                b.putInt(m.requestId()).put((byte) m.status()).put((byte) m.information().length).putShort((short) 0);
                b.putInt(m.qpn() << 8).putLong(m.service()).putInt(m.qkey());
                b.put(padded(m.information(), SidrRep.INFORMATION)).put(m.privateData());
            }
            case Lap m -> ids(b, m.localId(), m.remoteId());
            case Apr m -> ids(b, m.localId(), m.remoteId()).put((byte) 0).put((byte) m.status());
        }
        return bytes;
    }

    private static byte[] padded(byte[] data, int length) {
        return Arrays.copyOf(data, length);
    }

    private static ByteBuffer ids(ByteBuffer b, int localId, int remoteId) {
        return b.putInt(localId).putInt(remoteId);
    }

    private static int bit(boolean value, int shift) {
        return value ? 1 << shift : 0;
    }

    private static void encode(ByteBuffer b, Req m) {
        b.putInt(MODIFIER, m.ece().options());
        b.putInt(m.localId()).putInt(m.ece().vendor()).putLong(m.service()).putLong(m.caGuid()).putInt(0);
        b.putInt(m.qkey());
        b.putInt(m.qpn() << 8 | m.responderResources());
        b.putInt(m.initiatorDepth());
        b.putInt(m.remoteTimeout() << 3 | m.transport() << 1 | bit(m.flowControl(), 0));
        b.putInt(m.psn() << 8 | m.localTimeout() << 3 | m.retryCount());
        b.putShort((short) m.pkey()).put((byte) (m.mtu() << 4 | m.rnrRetry()))
                .put((byte) (m.maxCmRetries() << 4 | bit(m.srq(), 3)));
        Message.Path path = m.path();
        b.putShort((short) PERMISSIVE_LID).putShort((short) PERMISSIVE_LID);
        b.putLong(path.localGidHigh()).putLong(path.localGidLow()).putLong(path.remoteGidHigh())
                .putLong(path.remoteGidLow());
        b.putInt(path.flowLabel() << 12 | path.rate()).put((byte) path.trafficClass()).put((byte) path.hopLimit());
        b.put((byte) 0).put((byte) (path.ackTimeout() << 3));
        b.position(HEADER + 140).put(m.privateData());
    }

    private static void encode(ByteBuffer b, Rep m) {
        int vendor = m.ece().vendor(); // a byte of it stands at the end of each of three words
        b.putInt(MODIFIER, m.ece().options());
        ids(b, m.localId(), m.remoteId()).putInt(m.qkey()).putInt(m.qpn() << 8 | bits(vendor, 16, 8));
        b.putInt(bits(vendor, 8, 8)).putInt(m.psn() << 8 | bits(vendor, 0, 8));
        b.put((byte) m.responderResources()).put((byte) m.initiatorDepth());
        b.put((byte) (m.ackDelay() << 3 | m.failover() << 1 | bit(m.flowControl(), 0)));
        b.put((byte) (m.rnrRetry() << 5 | bit(m.srq(), 4))).putLong(m.caGuid()).put(m.privateData());
    }

    /**
     * Reads a stranger's datagram; returns null if it is not a known message of a connection manager. Reserved bits are
     * ignored.
     */
    public static @Nullable Mad decode(byte[] bytes) {
        if (bytes.length != Gsi.MAD) {
            return null;
        }
        ByteBuffer b = ByteBuffer.wrap(bytes);
        if (b.getInt() != KIND) {
            return null;
        }
        long transaction = b.getLong(8);
        int attribute = b.getShort(16);
        b.position(HEADER);
        Message message = switch (attribute) {
            case 0x10 -> req(b);
            case 0x11 ->
                    new Mra(b.getInt(), b.getInt(), bits(b.get(), 6, 2), bits(b.get(), 3, 5), rest(b, Mra.PRIVATE));
            case 0x12 -> rej(b);
            case 0x13 -> rep(b);
            case 0x14 -> new Rtu(b.getInt(), b.getInt(), rest(b, Rtu.PRIVATE));
            case 0x15 -> new Dreq(b.getInt(), b.getInt(), b.getInt() >>> 8, rest(b, Dreq.PRIVATE));
            case 0x16 -> new Drep(b.getInt(), b.getInt(), rest(b, Drep.PRIVATE));
            case 0x17 -> new SidrReq(b.getInt(), b.getInt() >>> 16, b.getLong(), rest(b, SidrReq.PRIVATE));
            case 0x18 -> sidrRep(b);
            case 0x19 -> new Lap(b.getInt(), b.getInt());
            case 0x1a -> new Apr(b.getInt(), b.getInt(), b.get(b.position() + 1) & 0xff);
            default -> null;
        };
        return message == null ? null : new Mad(transaction, message);
    }

    private static int bits(int word, int shift, int count) {
        return word >>> shift & (1 << count) - 1;
    }

    private static byte[] rest(ByteBuffer b, int length) {
        var data = new byte[length];
        b.get(data);
        return data;
    }

    private static @Nullable Rej rej(ByteBuffer b) {
        int local = b.getInt();
        int remote = b.getInt();
        int about = bits(b.get(), 6, 2);
        int length = bits(b.get(), 1, 7);
        int reason = b.getShort() & 0xffff;
        byte[] information = rest(b, Rej.INFORMATION);
        return length > Rej.INFORMATION
                ? null
                : new Rej(local, remote, about, reason, Arrays.copyOf(information, length), rest(b, Rej.PRIVATE));
    }

    private static Req req(ByteBuffer b) {
        int local = b.getInt();
        int vendor = bits(b.getInt(), 0, 24);
        long service = b.getLong();
        long guid = b.getLong();
        b.getInt();
        int qkey = b.getInt();
        int qp = b.getInt();
        int depth = b.getInt();
        int remote = b.getInt();
        int psn = b.getInt();
        int pkey = b.getShort() & 0xffff;
        int mtu = b.get();
        int retries = b.get();
        b.getInt(); // LIDs
        var gids = new long[] {b.getLong(), b.getLong(), b.getLong(), b.getLong()};
        int flow = b.getInt();
        int trafficClass = b.get() & 0xff;
        int hops = b.get() & 0xff;
        b.get(); // service level
        int ack = b.get();
        var path = new Message.Path(
                gids[0], gids[1], gids[2], gids[3], flow >>> 12, bits(flow, 0, 6), trafficClass, hops, bits(ack, 3, 5));
        b.position(HEADER + 140);
        return new Req(
                local,
                service,
                guid,
                qkey,
                qp >>> 8,
                bits(qp, 0, 8),
                bits(depth, 0, 8),
                bits(remote, 3, 5),
                bits(remote, 1, 2),
                bits(remote, 0, 1) == 1,
                psn >>> 8,
                bits(psn, 3, 5),
                bits(psn, 0, 3),
                pkey,
                bits(mtu, 4, 4),
                bits(mtu, 0, 3),
                bits(retries, 4, 4),
                bits(retries, 3, 1) == 1,
                path,
                rest(b, Req.PRIVATE),
                ece(b, vendor));
    }

    private static Rep rep(ByteBuffer b) {
        int local = b.getInt();
        int remote = b.getInt();
        int qkey = b.getInt();
        int qpn = b.getInt();
        int context = b.getInt(); // its upper bits are of an end-to-end context, which nobody has
        int psn = b.getInt();
        int vendor = bits(qpn, 0, 8) << 16 | bits(context, 0, 8) << 8 | bits(psn, 0, 8);
        int responder = b.get() & 0xff;
        int initiator = b.get() & 0xff;
        int ack = b.get();
        int rnr = b.get();
        return new Rep(
                local,
                remote,
                qkey,
                qpn >>> 8,
                psn >>> 8,
                responder,
                initiator,
                bits(ack, 3, 5),
                bits(ack, 1, 2),
                bits(ack, 0, 1) == 1,
                bits(rnr, 5, 3),
                bits(rnr, 4, 1) == 1,
                b.getLong(),
                rest(b, Rep.PRIVATE),
                ece(b, vendor));
    }

    private static Message.Ece ece(ByteBuffer b, int vendor) {
        return vendor == 0 ? Message.Ece.NONE : new Message.Ece(vendor, b.getInt(MODIFIER));
    }

    private static @Nullable SidrRep sidrRep(ByteBuffer b) {
        int request = b.getInt();
        int status = b.get() & 0xff;
        int length = b.get() & 0xff;
        b.getShort();
        int qpn = b.getInt() >>> 8;
        long service = b.getLong();
        int qkey = b.getInt();
        byte[] information = rest(b, SidrRep.INFORMATION);
        return length > SidrRep.INFORMATION
                ? null
                : new SidrRep(
                        request, status, qpn, service, qkey, Arrays.copyOf(information, length),
                        rest(b, SidrRep.PRIVATE));
    }
}
