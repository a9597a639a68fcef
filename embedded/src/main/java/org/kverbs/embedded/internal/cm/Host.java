package org.kverbs.embedded.internal.cm;

import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.kverbs.embedded.internal.cm.Message.Req;
import org.kverbs.embedded.internal.cm.Message.SidrReq;
import org.kverbs.embedded.internal.engine.Engine;

/**
 * Holds what all ids of a connection manager share, and hands requests to the listeners. Called with the engine's lock
 * held.
 */
final class Host implements Agent.Services {

    final Engine engine;
    final Agent agent;
    final Ports ports;
    final Devices devices = new Devices();
    final Map<Long, Id> ids = new HashMap<>();
    /** The limit of {@link HalfOpen} for listeners that start from now on. */
    int mostHalfOpen = HalfOpen.MOST;

    Host(Engine engine, Random random) {
        this.engine = engine;
        this.agent = new Agent(engine, random, this);
        this.ports = new Ports(random);
    }

    Id add(Id id) {
        ids.put(id.handle(), id);
        return id;
    }

    @Override
    public boolean requested(Connection connection, Req req, IpService addresses) {
        Id listener = ports.find(IpService.protocol(req.service()), addresses.destination(), connection.remote.port());
        if (listener == null || !listener.takesConnections()) {
            return false;
        }
        if (listener.isFull() || !listener.admits(connection)) {
            agent.logIgnored(connection.remote);
            connection.ignore();
            return true;
        }
        Id child = add(listener.child(connection.remote, addresses));
        try {
            child.session.requested(connection, req);
            byte[] data = new byte[Req.PRIVATE - IpService.HEADER];
            System.arraycopy(req.privateData(), IpService.HEADER, data, 0, data.length);
            listener.request(CmEvent.of(child, listener, req, data));
            return true;
        } catch (Throwable e) {
            child.destroy(); // the program does not know this id yet
            throw e;
        }
    }

    @Override
    public boolean requested(Resolved resolved, SidrReq req, IpService addresses) {
        Id listener = ports.find(IpService.protocol(req.service()), addresses.destination(), resolved.remote.port());
        if (listener == null || listener.takesConnections()) {
            return false;
        }
        if (listener.isFull()) {
            resolved.ignore();
            return true;
        }
        Id child = add(listener.child(resolved.remote, addresses));
        try {
            child.session.requested(resolved);
            byte[] data = new byte[SidrReq.PRIVATE - IpService.HEADER];
            System.arraycopy(req.privateData(), IpService.HEADER, data, 0, data.length);
            listener.request(CmEvent.datagramRequest(child, listener, data));
            return true;
        } catch (Throwable e) {
            child.destroy(); // the program does not know this id yet
            throw e;
        }
    }
}
