package org.kverbs.embedded.internal.cm;

import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.cm.Message.Rep;
import org.kverbs.embedded.internal.cm.Message.Req;
import org.kverbs.embedded.internal.cm.Message.SidrRep;
import org.kverbs.embedded.internal.cm.Message.SidrReq;
import org.kverbs.embedded.internal.objects.Gids;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvQpState;
import org.kverbs.internal.abi.RdmaCmEventType;
import org.kverbs.internal.abi.RdmaLimits;

/**
 * Joins an id to its peer: by a connection, or by a request for a datagram queue pair in either direction. It turns
 * what happens into events of the id.
 */
final class Session implements ConnectionOwner, Resolving.Owner {

    private static final int PKEY = 0xffff;
    private static final int RC = 0;

    private final Id id;
    private final Agent agent;
    private @Nullable Connection connection;
    private @Nullable Resolving resolving;
    private @Nullable Resolved resolved;
    private @Nullable Req req;
    private @Nullable Negotiated negotiated;
    /** The vendor's options that the next request or answer offers, and those that the peer's offered. */
    private Message.Ece localEce = Message.Ece.NONE;

    private Message.Ece remoteEce = Message.Ece.NONE;

    Session(Id id, Agent agent) {
        this.id = id;
        this.agent = agent;
    }

    // The active and the passive side.

    /** Returns 0 or -errno. */
    int connect(Remote to, IpService addresses, long service, Parameters given) {
        int room = id.takesConnections() ? Req.PRIVATE : SidrReq.PRIVATE;
        if (!given.fit(room - IpService.HEADER)) {
            return -Errno.EINVAL;
        }
        byte[] data = addresses.encode(given.privateData(), room);
        if (id.takesConnections()) {
            connection = Connection.active(agent, to, this);
            req = request(connection, service, given.atMost(Parameters.READS, Parameters.READS), data);
            connection.request(req);
        } else {
            resolving = new Resolving(agent, to, this, service, data);
            resolving.start();
        }
        return 0;
    }

    private Req request(Connection by, long service, Parameters chosen, byte[] data) {
        Remote to = by.remote;
        Hca device = to.port().device();
        Gids gids = device.gids();
        int timeout = id.options.ackTimeoutOr(Timers.acknowledgement(Timers.PACKET_LIFE, Timers.ACK_DELAY));
        var path = new Message.Path(
                gids.high(to.sourceIndex()),
                gids.low(to.sourceIndex()),
                to.gidHigh(),
                to.gidLow(),
                0,
                0, // no rate, as in Linux on RoCE
                id.options.trafficClass,
                Route.HOPS,
                timeout);
        return new Req(
                by.localId,
                service,
                device.guid(),
                0,
                chosen.qpn(),
                chosen.responderResources(),
                chosen.initiatorDepth(),
                Timers.RESPONSE,
                RC,
                chosen.flowControl(),
                agent.freshPsn(),
                Timers.RESPONSE,
                chosen.retryCount(),
                PKEY,
                Agent.mtu(device),
                chosen.rnrRetry(),
                Timers.RETRIES,
                chosen.srq(),
                path,
                data,
                localEce);
    }

    void requested(Connection by, Req asked) {
        connection = by;
        by.ownedBy(this);
        req = asked;
        remoteEce = asked.ece();
        Message.Path path = asked.path();
        var route = new Route(
                by.remote.sourceIndex(),
                by.remote.gidHigh(),
                by.remote.gidLow(),
                path.flowLabel(),
                path.hopLimit(),
                path.trafficClass());
        negotiated = Negotiated.of(route, asked, agent.freshPsn());
    }

    void requested(Resolved by) {
        resolved = by;
    }

    // Calls of the user; each returns 0 or -errno.

    int accept(Parameters given) {
        if (resolved != null) {
            boolean fits = given.fit(SidrRep.PRIVATE);
            return fits ? resolved.accept(given.qpn(), RdmaLimits.RDMA_UDP_QKEY, given.privateData()) : -Errno.EINVAL;
        }
        if (connection == null || negotiated == null || req == null || !given.fit(Rep.PRIVATE)) {
            return -Errno.EINVAL;
        }
        Parameters chosen = given.atMost(req.initiatorDepth(), req.responderResources());
        int result = connection.accept(new Rep(
                connection.localId,
                connection.remoteId(),
                0,
                chosen.qpn(),
                negotiated.receivePsn(),
                chosen.responderResources(),
                chosen.initiatorDepth(),
                Timers.ACK_DELAY,
                0,
                chosen.flowControl(),
                chosen.rnrRetry(),
                chosen.srq(),
                connection.remote.port().device().guid(),
                chosen.privateData(),
                localEce));
        if (result == 0) {
            negotiated = negotiated.with(chosen);
        }
        return result;
    }

    /** Offers options from now on; vendor 0 is refused. */
    int offer(Message.Ece ece) {
        if (ece.vendor() == 0) {
            return -Errno.EINVAL;
        }
        localEce = ece;
        return 0;
    }

    /** Returns what the peer offered. */
    Message.Ece offered() {
        return remoteEce;
    }

    int reject(int reason, byte[] privateData) {
        if (resolved != null) {
            return privateData.length > SidrRep.PRIVATE ? -Errno.EINVAL : resolved.reject(privateData);
        }
        if (connection == null || privateData.length > Message.Rej.PRIVATE) {
            return -Errno.EINVAL;
        }
        return connection.reject(reason, privateData);
    }

    int establish() {
        return connection == null ? -Errno.EINVAL : connection.establish();
    }

    int communicates() {
        return connection == null ? -Errno.EINVAL : connection.communicates();
    }

    int disconnect() {
        if (connection == null) {
            return -Errno.EINVAL;
        }
        connection.disconnect();
        return 0;
    }

    /** Fills {@code struct ibv_qp_attr}. Returns the mask, or -errno. */
    int writeAttributes(long attributes, int to) {
        if (!id.takesConnections()) {
            return Negotiated.writeDatagrams(attributes, to, RdmaLimits.RDMA_UDP_QKEY);
        }
        if (connection != null && !connection.state().isUnderWay()) {
            return -Errno.EINVAL;
        }
        if (negotiated == null) {
            return to == IbvQpState.IBV_QPS_INIT ? Negotiated.writeInit(attributes) : -Errno.EINVAL;
        }
        return negotiated.withTimeout(id.options.ackTimeoutOr(negotiated.timeout())).write(attributes, to);
    }

    /** Ends the session with its id. A connection goes on to its end alone. */
    void end() {
        if (connection != null) {
            connection.abandon();
        }
        if (resolving != null) {
            resolving.end();
        }
        if (resolved != null) {
            resolved.abandon();
        }
    }

    // Events of the peer.

    @Override
    public void replied(Rep rep) {
        remoteEce = rep.ece();
        if (req != null && connection != null) {
            negotiated = Negotiated.of(Route.to(connection.remote, id.options.trafficClass), req, rep);
        }
        id.raise(CmEvent.of(id, rep));
    }

    @Override
    public void established() {
        id.raise(RdmaCmEventType.RDMA_CM_EVENT_ESTABLISHED, 0);
    }

    @Override
    public void rejected(int reason, byte[] privateData) {
        id.raise(new CmEvent(id, RdmaCmEventType.RDMA_CM_EVENT_REJECTED, reason).data(privateData));
    }

    @Override
    public void unreachable() {
        id.raise(RdmaCmEventType.RDMA_CM_EVENT_UNREACHABLE, -Errno.ETIMEDOUT);
    }

    @Override
    public void disconnected(int status) {
        id.raise(RdmaCmEventType.RDMA_CM_EVENT_DISCONNECTED, status);
    }

    @Override
    public void timewaitOver() {
        id.raise(RdmaCmEventType.RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
    }

    @Override
    public void resolved(Remote by, SidrRep rep) {
        if (rep.status() != Resolved.SUCCESS) {
            id.raise(new CmEvent(id, RdmaCmEventType.RDMA_CM_EVENT_UNREACHABLE, rep.status()).data(rep.privateData()));
            return;
        }
        Route route = Route.to(by, id.options.trafficClass);
        id.raise(CmEvent.datagrams(id, RdmaCmEventType.RDMA_CM_EVENT_ESTABLISHED, route, rep.qpn(), rep.qkey())
                .data(rep.privateData()));
    }
}
