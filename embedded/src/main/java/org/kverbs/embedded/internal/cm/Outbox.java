package org.kverbs.embedded.internal.cm;

import java.nio.ByteBuffer;
import org.kverbs.embedded.internal.cm.Message.Drep;
import org.kverbs.embedded.internal.cm.Message.Dreq;
import org.kverbs.embedded.internal.cm.Message.Mra;
import org.kverbs.embedded.internal.cm.Message.Rej;
import org.kverbs.embedded.internal.cm.Message.Rtu;

/** Writes the messages of one side of a connection, and sends them to the peer. */
final class Outbox {

    static final byte[] NOTHING = {};

    private final Remote remote;
    private final long transaction;
    private final int localId;
    private final Confirmation confirmation;
    /** The peer's id of the connection; 0 until it is known. */
    private int remoteId;

    Outbox(Remote remote, long transaction, int localId, Confirmation confirmation) {
        this.remote = remote;
        this.transaction = transaction;
        this.localId = localId;
        this.confirmation = confirmation;
    }

    /** Sets the peer's id of the connection. */
    void peer(int id) {
        remoteId = id;
    }

    int peer() {
        return remoteId;
    }

    /** Sends a message at once. */
    void send(Message message) {
        remote.send(transaction, message);
    }

    /** Sends a message to a peer that may have to confirm its address first. */
    void answer(Message message) {
        if (confirmation.answer()) {
            send(message);
        }
    }

    void sendRtu() {
        send(new Rtu(localId, remoteId, NOTHING));
    }

    void sendDrep() {
        send(new Drep(localId, remoteId, NOTHING));
    }

    Dreq dreq(int remoteQpn) {
        return new Dreq(localId, remoteId, remoteQpn, NOTHING);
    }

    /** Makes a message that asks for more time. */
    Mra mra(int about) {
        return new Mra(localId, remoteId, about, Timers.SERVICE, NOTHING);
    }

    /** Makes a refusal that is about no message of the peer. */
    Rej rej(int reason) {
        return new Rej(localId, remoteId, Message.ABOUT_OTHER, reason, NOTHING, NOTHING);
    }

    /** Refuses the message that the peer's last step was, as the state tells. */
    void refuse(ConnectionState state, int reason, byte[] privateData) {
        int about = switch (state) {
            case REQ_RECEIVED -> Message.ABOUT_REQ;
            case REP_RECEIVED -> Message.ABOUT_REP;
            default -> Message.ABOUT_OTHER;
        };
        // The passive side may not know our id yet: it finds the connection by our device's GUID (IBA volume 1,
        // 12.6.7.2).
        byte[] information = reason == Reject.TIMEOUT
                ? ByteBuffer.allocate(Long.BYTES).putLong(remote.port().device().guid()).array()
                : NOTHING;
        answer(new Rej(localId, remoteId, about, reason, information, privateData));
    }
}
