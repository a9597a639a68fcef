package org.kverbs.embedded.internal.cm;

import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.cm.Message.Drep;
import org.kverbs.embedded.internal.cm.Message.Dreq;
import org.kverbs.embedded.internal.cm.Message.Mra;
import org.kverbs.embedded.internal.cm.Message.Rej;
import org.kverbs.embedded.internal.cm.Message.Rep;
import org.kverbs.embedded.internal.cm.Message.Req;
import org.kverbs.embedded.internal.cm.Message.Rtu;
import org.kverbs.embedded.internal.engine.Engine;
import org.kverbs.embedded.internal.engine.Event;
import org.kverbs.internal.abi.Errno;

/**
 * Implements one side of a connection (IBA volume 1, 12.9): its state, the message that waits for an answer, and the
 * timer for it. If the owner leaves, the connection goes on to its end alone, and keeps its device's port open until
 * then.
 */
final class Connection extends Event {

    final Remote remote;
    final int localId;
    final long transaction;
    private final Agent agent;
    private @Nullable ConnectionOwner owner;
    private ConnectionState state;
    private int localQpn;
    private long remoteGuid;
    private int remoteQpn;
    /** How long packets can be in the network after the end: the queue pair's timeout, 4.096 us * 2^n. */
    private int timewait = Timers.acknowledgement(Timers.PACKET_LIFE, Timers.ACK_DELAY);

    private int maxRetries = Timers.RETRIES;
    private long answerTime = Timers.answer(Timers.RESPONSE);
    private @Nullable Message sent;
    private int retries;
    final Confirmation confirmation;
    private final Outbox outbox;

    private Connection(Agent agent, Remote remote, long transaction, ConnectionState state) {
        this.agent = agent;
        this.remote = remote;
        this.localId = agent.freshId();
        this.confirmation = new Confirmation(agent.engine());
        this.transaction = transaction;
        this.outbox = new Outbox(remote, transaction, localId, confirmation);
        this.state = state;
    }

    /** Makes the active side, before {@link #request}. */
    static Connection active(Agent agent, Remote remote, ConnectionOwner owner) {
        var connection = new Connection(agent, remote, agent.freshTransaction(), ConnectionState.REQ_SENT);
        connection.owner = owner;
        return connection;
    }

    /** Makes the passive side, which waits for {@link #accept} or {@link #reject}. */
    static Connection passive(Agent agent, Remote remote, long transaction, Req req) {
        var connection = new Connection(agent, remote, transaction, ConnectionState.REQ_RECEIVED);
        connection.peer(req.localId(), req.caGuid(), req.qpn());
        connection.maxRetries = req.maxCmRetries();
        connection.answerTime = Timers.answer(Math.min(req.localTimeout(), Timers.RESPONSE + 2));
        if (remote.port().leadsToOtherProcesses()) {
            connection.confirmation.require();
            connection.answerTime = Math.max(Confirmation.INTERVAL, connection.answerTime);
        }
        connection.timewait = Math.min(Timers.SERVICE, req.path().ackTimeout());
        return connection;
    }

    private void peer(int id, long guid, int qpn) {
        outbox.peer(id);
        remoteGuid = guid;
        remoteQpn = qpn;
    }

    void ownedBy(ConnectionOwner other) {
        owner = other;
    }

    ConnectionState state() {
        return state;
    }

    Engine engine() {
        return agent.engine();
    }

    int remoteId() {
        return outbox.peer();
    }

    long remoteGuid() {
        return remoteGuid;
    }

    int remoteQpn() {
        return remoteQpn;
    }

    // Calls of the owner.

    void request(Req req) {
        localQpn = req.qpn();
        agent.add(this);
        sendUntilAnswered(req);
    }

    /** Returns 0 or -errno. */
    int accept(Rep rep) {
        if (state != ConnectionState.REQ_RECEIVED) {
            return -Errno.EINVAL;
        }
        confirmation.accepted(this);
        localQpn = rep.qpn();
        state = ConnectionState.REP_SENT;
        sendUntilAnswered(rep);
        return 0;
    }

    /** Returns 0 or -errno. */
    int reject(int reason, byte[] privateData) {
        if (state != ConnectionState.REQ_RECEIVED && state != ConnectionState.REP_RECEIVED) {
            return -Errno.EINVAL;
        }
        outbox.refuse(state, reason, privateData);
        finish();
        return 0;
    }

    /** Notes that the REP came and that the queue pair can send. Returns 0 or -errno. */
    int establish() {
        if (state != ConnectionState.REP_RECEIVED) {
            return -Errno.EINVAL;
        }
        state = ConnectionState.ESTABLISHED;
        outbox.sendRtu();
        return 0;
    }

    /**
     * Notes that a message came on the queue pair, which proves that the peer sent an RTU that was lost. Returns 0 or
     * -errno.
     */
    int communicates() {
        if (state != ConnectionState.REP_SENT) {
            return state == ConnectionState.ESTABLISHED ? -Errno.EISCONN : -Errno.EINVAL;
        }
        settled();
        return 0;
    }

    void disconnect() {
        switch (state) {
            case REP_SENT, ESTABLISHED -> {
                state = ConnectionState.DREQ_SENT;
                sendUntilAnswered(outbox.dreq(remoteQpn));
            }
            case REP_RECEIVED -> reject(Reject.CONSUMER, Outbox.NOTHING);
            case DREQ_RECEIVED -> {
                outbox.sendDrep();
                waitForTheLast();
            }
            default -> {
                // The connection is not up yet, or it already ends.
            }
        }
    }

    /** Tells the peer that this process ends. The owner may go on as after a disconnect. Called with the lock held. */
    void processEnds() {
        if (state == ConnectionState.REP_SENT || state == ConnectionState.ESTABLISHED) {
            disconnect();
        }
    }

    /** Goes on to the end without an owner. */
    void abandon() {
        owner = null;
        switch (state) {
            case REQ_SENT -> {
                outbox.refuse(state, Reject.TIMEOUT, Outbox.NOTHING);
                finish();
            }
            case REQ_RECEIVED, REP_SENT, REP_RECEIVED -> {
                outbox.refuse(state, Reject.CONSUMER, Outbox.NOTHING);
                finish();
            }
            default -> disconnect();
        }
    }

    /** Forgets a request that no listener took, so that the peer asks again. */
    void ignore() {
        owner = null;
        finish();
    }

    /** Ends in favour of a newer half-open connection. The peer may believe that it is connected, so it gets a REJ. */
    void giveWay() {
        agent.answerStranger(remote, transaction, outbox.rej(Reject.NO_RESOURCES));
        giveUp();
    }

    // Messages of the peer.

    void requestedAgain() {
        if (!confirmation.mayRepeat()) {
            return;
        }
        if (state == ConnectionState.REQ_RECEIVED) {
            outbox.answer(outbox.mra(Message.ABOUT_REQ));
        } else if (state == ConnectionState.REP_SENT) {
            sendAgain();
        }
    }

    /** Handles a message that names our id. */
    void take(Message message) {
        confirmation.give();
        switch (message) {
            case Rep rep -> replied(rep);
            case Mra mra -> delayed(mra);
            case Rej rej -> rejected(rej);
            case Rtu rtu when state == ConnectionState.REP_SENT -> settled();
            case Dreq dreq when dreq.remoteQpn() == localQpn -> disconnectAsked();
            case Drep drep when state == ConnectionState.DREQ_SENT -> disconnected(0);
            default -> {
                // A late or repeated message changes nothing.
            }
        }
    }

    private void replied(Rep rep) {
        if (state == ConnectionState.REQ_SENT) {
            peer(rep.localId(), rep.caGuid(), rep.qpn());
            answered();
            state = ConnectionState.REP_RECEIVED;
            agent.learned(this);
            if (owner != null) {
                owner.replied(rep);
            }
        } else if (state == ConnectionState.REP_RECEIVED) {
            outbox.send(outbox.mra(Message.ABOUT_REP));
        } else if (state == ConnectionState.ESTABLISHED) {
            outbox.sendRtu();
        }
    }

    private void delayed(Mra mra) {
        boolean awaited = state == ConnectionState.REQ_SENT && mra.about() == Message.ABOUT_REQ
                || state == ConnectionState.REP_SENT && mra.about() == Message.ABOUT_REP;
        if (awaited) {
            agent.engine().schedule(this, Timers.answer(mra.serviceTimeout()));
        }
    }

    private void rejected(Rej rej) {
        ConnectionOwner told = owner;
        switch (state) {
            case REQ_SENT, REQ_RECEIVED, REP_SENT, REP_RECEIVED -> {
                finish();
                if (told != null) {
                    told.rejected(rej.reason(), rej.privateData());
                }
            }
            case ESTABLISHED, DREQ_SENT -> disconnected(0);
            default -> {
                // The connection already ends.
            }
        }
    }

    private void settled() {
        answered();
        confirmation.give();
        confirmation.leave(this);
        state = ConnectionState.ESTABLISHED;
        if (owner != null) {
            owner.established();
        }
    }

    private void disconnectAsked() {
        switch (state) {
            case REP_SENT, REP_RECEIVED, ESTABLISHED -> {
                answered();
                confirmation.leave(this);
                state = ConnectionState.DREQ_RECEIVED;
                if (owner != null) {
                    owner.disconnected(0);
                } else {
                    disconnect();
                }
            }
            case DREQ_SENT -> {
                outbox.sendDrep();
                disconnected(0);
            }
            case TIMEWAIT -> outbox.sendDrep();
            default -> {
                // The owner has not answered the first DREQ yet.
            }
        }
    }

    private void disconnected(int status) {
        ConnectionOwner told = owner;
        waitForTheLast();
        if (told != null) {
            told.disconnected(status);
        }
    }

    // Sending and timers.

    private void sendUntilAnswered(Message message) {
        sent = message;
        retries = 0;
        sendAgain();
    }

    private void sendAgain() {
        if (sent != null) {
            agent.engine().schedule(this, answerTime);
            outbox.answer(sent);
        }
    }

    private void answered() {
        sent = null;
        agent.engine().cancel(this);
    }

    private void waitForTheLast() {
        answered();
        confirmation.leave(this);
        state = ConnectionState.TIMEWAIT;
        agent.engine().schedule(this, Timers.nanos(timewait));
    }

    /** Ends the connection, once. */
    private void finish() {
        if (state == ConnectionState.GONE) {
            return;
        }
        answered();
        confirmation.leave(this);
        state = ConnectionState.GONE;
        agent.remove(this);
    }

    @Override
    protected void happen() {
        if (state == ConnectionState.TIMEWAIT) {
            finish();
            if (owner != null) {
                owner.timewaitOver();
            }
        } else if (retries++ < maxRetries && confirmation.hasAnswers()) {
            sendAgain();
        } else if (state == ConnectionState.DREQ_SENT) {
            disconnected(-Errno.ETIMEDOUT);
        } else {
            outbox.refuse(state, Reject.TIMEOUT, Outbox.NOTHING);
            giveUp();
        }
    }

    @Override
    protected void failed() {
        if (state != ConnectionState.GONE) {
            giveUp(); // if the state is GONE, the owner's callback failed
        }
    }

    private void giveUp() {
        ConnectionOwner told = owner;
        finish();
        if (told != null) {
            told.unreachable();
        }
    }
}
