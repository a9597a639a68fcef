package org.kverbs.embedded.internal.cm;

import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.Gid;
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
import org.kverbs.embedded.internal.engine.Engine;
import org.kverbs.embedded.internal.engine.FailureLog;
import org.kverbs.embedded.internal.transport.Gsi;
import org.kverbs.embedded.internal.transport.Hca;

/**
 * Keeps all connections of the devices of an engine. It gives each message to its connection, and answers messages that
 * belong to no connection.
 */
final class Agent implements Gsi.Handler {

    private static final byte[] NOTHING = {};
    /** APR status: alternate paths are not supported (IBA volume 1, 12.8.2). */
    private static final int NO_ALTERNATE_PATHS = 2;
    private static final int RC = 0;
    /** The most answers a second to other machines' messages that belong to no connection. */
    private static final int STRANGERS = 250;
    /** How many answers to datagram requests are kept, in case a peer asks again. */
    private static final int KEPT = 1 << 13;

    /** Takes requests for the listeners. */
    interface Services {
        /** Tells whether a listener serves the request. If so, the listener owns the connection from now on. */
        boolean requested(Connection connection, Req req, IpService addresses);

        boolean requested(Resolved resolved, SidrReq req, IpService addresses);
    }

    /**
     * Identifies one side of a connection by what a stranger claims. The address is part of the key, so that strangers
     * cannot speak for others.
     */
    record Side(long guid, int id, long gidHigh, long gidLow) {
        static Side of(long guid, int id, Remote remote) {
            return new Side(guid, id, remote.gidHigh(), remote.gidLow());
        }
    }

    private final Engine engine;
    private final Random random;
    private final Services services;
    final Map<Integer, Connection> byId = new HashMap<>();
    /** The passive connections by the active side's id. */
    final Map<Side, Connection> bySide = new HashMap<>();
    /** The connections by the peer's queue pair. */
    final Map<Side, Connection> byQueuePair = new HashMap<>();
    final Map<Integer, Resolving> resolving = new HashMap<>();
    /** The oldest comes first. */
    final Map<Side, Resolved> resolved = new LinkedHashMap<>();
    private final FailureLog refusals = new FailureLog(Level.WARNING);
    /** The start of the second in which {@link #strangers} messages without a connection were answered. */
    private long second;
    private int strangers;

    Agent(Engine engine, Random random, Services services) {
        this.engine = engine;
        this.random = random;
        this.services = services;
    }

    Engine engine() {
        return engine;
    }

    int freshId() {
        int id;
        do {
            id = random.nextInt();
        } while (id == 0 || byId.containsKey(id) || resolving.containsKey(id));
        return id;
    }

    long freshTransaction() {
        return random.nextLong();
    }

    int freshPsn() {
        return random.nextInt() & 0xffffff;
    }

    void add(Connection connection) {
        // The caller already opened the port for itself, so this call cannot fail.
        connection.remote.port().open();
        byId.put(connection.localId, connection);
        Farewell.add(connection);
    }

    /** Notes that a connection knows its peer's queue pair. */
    void learned(Connection connection) {
        byQueuePair.put(queuePair(connection), connection);
    }

    void remove(Connection connection) {
        byId.remove(connection.localId);
        Farewell.remove(connection);
        bySide.remove(side(connection), connection);
        byQueuePair.remove(queuePair(connection), connection);
        connection.remote.port().close();
    }

    private static Side side(Connection connection) {
        return Side.of(connection.remoteGuid(), connection.remoteId(), connection.remote);
    }

    private static Side queuePair(Connection connection) {
        return Side.of(connection.remoteGuid(), connection.remoteQpn(), connection.remote);
    }

    void add(Resolving question) {
        question.remote.port().open();
        resolving.put(question.id, question);
    }

    void remove(Resolving question) {
        if (resolving.remove(question.id, question)) {
            question.remote.port().close();
        }
    }

    void remove(Resolved answer) {
        if (resolved.remove(Side.of(0, answer.requestId, answer.remote), answer)) {
            answer.remote.port().close();
        }
    }

    @Override
    public void take(Gsi port, Gsi.Datagram datagram) {
        Mad mad = Mad.decode(datagram.bytes());
        int ours = port.device().gids().indexOf(datagram.destinationHigh(), datagram.destinationLow());
        if (mad == null || ours < 0) {
            return;
        }
        var from = new Remote(port, ours, datagram.sourceHigh(), datagram.sourceLow());
        switch (mad.message()) {
            case Req req -> take(from, mad.transaction(), req);
            case SidrReq req -> take(from, mad.transaction(), req);
            case SidrRep rep -> {
                Resolving question = resolving.get(rep.requestId());
                if (question != null && question.remote.equals(from)) {
                    question.answered(rep);
                }
            }
            case Rej rej -> {
                Connection connection = find(from, rej.remoteId(), rej.localId());
                connection = connection == null ? gaveUp(from, rej) : connection;
                if (connection != null) {
                    connection.take(rej);
                }
            }
            case Rep rep -> give(from, mad, rep.remoteId(), rep.localId());
            case Dreq dreq -> give(from, mad, dreq.remoteId(), dreq.localId());
            case Lap lap -> give(from, mad, lap.remoteId(), lap.localId());
            case Mra mra -> give(from, mad, mra.remoteId(), mra.localId());
            case Rtu rtu -> give(from, mad, rtu.remoteId(), rtu.localId());
            case Drep drep -> give(from, mad, drep.remoteId(), drep.localId());
            case Apr apr -> {
                // This side never asks for another path.
            }
        }
    }

    private void give(Remote from, Mad mad, int ours, int theirs) {
        Connection connection = find(from, ours, theirs);
        if (connection == null) {
            giveNobody(from, mad, ours, theirs);
        } else if (mad.message() instanceof Lap) {
            from.send(mad.transaction(), new Apr(ours, theirs, NO_ALTERNATE_PATHS));
        } else {
            connection.take(mad.message());
        }
    }

    private void giveNobody(Remote from, Mad mad, int ours, int theirs) {
        Message answer = switch (mad.message()) {
            case Rep rep -> new Rej(ours, theirs, Message.ABOUT_REP, Reject.INVALID_ID, NOTHING, NOTHING);
            // The sender believes that it is connected.
            case Rtu rtu -> new Rej(ours, theirs, Message.ABOUT_OTHER, Reject.INVALID_ID, NOTHING, NOTHING);
            // This side has ended and forgotten the connection: the peer gets the confirmation it waits for (IBA volume
            // 1, 12.9.8.3.1).
            case Dreq dreq -> new Drep(ours, theirs, NOTHING);
            default -> null;
        };
        if (answer != null) {
            answerStranger(from, mad.transaction(), answer);
        }
    }

    /**
     * Returns the connection with our id, if its peer is the sender. Before the peer's first answer its id is unknown.
     */
    private @Nullable Connection find(Remote from, int ours, int theirs) {
        Connection connection = byId.get(ours);
        if (connection == null || !connection.remote.equals(from)) {
            return null;
        }
        boolean same = connection.state() == ConnectionState.REQ_SENT || connection.remoteId() == theirs;
        return same ? connection : null;
    }

    /** Returns the connection of a peer that gave up its request before it knew our id. */
    private @Nullable Connection gaveUp(Remote from, Rej rej) {
        boolean named = rej.reason() == Reject.TIMEOUT && rej.information().length == Long.BYTES;
        return named ? bySide.get(Side.of(ByteBuffer.wrap(rej.information()).getLong(), rej.localId(), from)) : null;
    }

    private void take(Remote from, long transaction, Req req) {
        Connection same = bySide.get(Side.of(req.caGuid(), req.localId(), from));
        if (same != null) {
            same.requestedAgain();
            return;
        }
        IpService addresses = IpService.isId(req.service())
                ? IpService.decode(req.privateData(), IpService.port(req.service()))
                : null;
        int reason = objection(from, req, addresses);
        Connection other = byQueuePair.get(Side.of(req.caGuid(), req.qpn(), from));
        if (reason == 0 && other != null && other.state() != ConnectionState.TIMEWAIT) {
            other.disconnect(); // the peer has forgotten that connection (IBA volume 1, 12.9.8.3)
            reason = Reject.STALE;
        }
        if (reason == 0 && addresses != null) {
            var connection = Connection.passive(this, from, transaction, req);
            add(connection);
            bySide.put(side(connection), connection);
            learned(connection);
            try {
                if (services.requested(connection, req, addresses)) {
                    return;
                }
            } catch (Throwable e) {
                connection.ignore(); // no other code ends this connection
                throw e;
            }
            connection.ignore();
            reason = Reject.INVALID_SERVICE;
        }
        byte[] information = reason == Reject.INVALID_MTU
                ? new byte[] {(byte) (mtu(from.port().device()) << 4)} : NOTHING;
        answerStranger(from, transaction, new Rej(0, req.localId(), Message.ABOUT_REQ, reason, information, NOTHING));
    }

    /**
     * Sends an answer, up to the limit per second: most messages of a forged flood get none, and an honest peer asks
     * again.
     */
    void answerStranger(Remote to, long transaction, Message answer) {
        long now = engine.now();
        if (now - second >= 1_000_000_000) {
            second = now;
            strangers = 0;
        }
        if (!to.port().leadsToOtherProcesses() || strangers++ < STRANGERS) {
            to.send(transaction, answer);
        }
    }

    /** Logs that a request was ignored, at most once a second. */
    void logIgnored(Remote from) {
        String address = new Gid(from.gidHigh(), from.gidLow()).toInetAddress().getHostAddress();
        refusals.add("a connection request of " + address + " was ignored: too many connections of this listener are"
                + " half open (kverbs.embedded.halfOpen sets the limit)", null);
    }

    /** Returns the reason why no listener can take a request; 0 if one can. */
    private static int objection(Remote from, Req req, @Nullable IpService addresses) {
        Message.Path path = req.path();
        Hca device = from.port().device();
        if (addresses == null) {
            return IpService.isId(req.service()) ? Reject.CONSUMER : Reject.INVALID_SERVICE;
        } else if (req.transport() != RC) {
            return Reject.INVALID_TRANSPORT;
        } else if (device.gids().indexOf(path.remoteGidHigh(), path.remoteGidLow()) != from.sourceIndex()) {
            return Reject.INVALID_GID;
        } else if (path.localGidHigh() != from.gidHigh() || path.localGidLow() != from.gidLow()) {
            return Reject.UNSUPPORTED; // the request asks this side to send to another address than the sender's
        }
        return req.mtu() < 1 || req.mtu() > mtu(device) ? Reject.INVALID_MTU : 0;
    }

    /** Returns the device's MTU as {@code enum ibv_mtu}. */
    static int mtu(Hca device) {
        return Integer.numberOfTrailingZeros(device.mtu()) - 7;
    }

    private void take(Remote from, long transaction, SidrReq req) {
        var side = Side.of(0, req.requestId(), from);
        Resolved same = resolved.get(side);
        if (same != null) {
            same.askedAgain();
            return;
        }
        IpService addresses = IpService.isId(req.service())
                ? IpService.decode(req.privateData(), IpService.port(req.service()))
                : null;
        if (resolved.size() == KEPT) {
            // The peer that asked first has its answer, or will ask again.
            resolved.values().iterator().next().ignore();
        }
        if (addresses != null) {
            var fresh = new Resolved(this, from, transaction, req);
            from.port().open();
            resolved.put(side, fresh);
            try {
                if (services.requested(fresh, req, addresses)) {
                    return;
                }
            } catch (Throwable e) {
                fresh.ignore(); // no other code ends this request
                throw e;
            }
            remove(fresh);
        }
        answerStranger(from, transaction, Resolved.refusal(req, Resolved.NO_SUCH_SERVICE));
    }
}
