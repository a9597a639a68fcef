package org.kverbs.embedded.internal.cm;

import org.kverbs.embedded.internal.cm.Message.SidrRep;
import org.kverbs.embedded.internal.cm.Message.SidrReq;
import org.kverbs.embedded.internal.engine.Event;

/** Asks for a service's queue pair (IBA volume 1, 12.11), again until an answer comes. */
final class Resolving extends Event {

    /** Gets the answer. */
    interface Owner {
        void resolved(Remote by, SidrRep rep);

        /** The peer did not answer. */
        void unreachable();
    }

    final int id;
    final Remote remote;
    private final Agent agent;
    private final Owner owner;
    private final Mad question;
    private int retries;

    Resolving(Agent agent, Remote remote, Owner owner, long service, byte[] privateData) {
        this.agent = agent;
        this.remote = remote;
        this.owner = owner;
        this.id = agent.freshId();
        this.question = new Mad(agent.freshTransaction(), new SidrReq(id, 0xffff, service, privateData));
    }

    void start() {
        agent.add(this);
        ask();
    }

    private void ask() {
        agent.engine().schedule(this, Timers.answer(Timers.RESPONSE));
        remote.send(question);
    }

    void end() {
        agent.engine().cancel(this);
        agent.remove(this);
    }

    void answered(SidrRep rep) {
        end();
        owner.resolved(remote, rep);
    }

    @Override
    protected void happen() {
        if (retries++ < Timers.RETRIES) {
            ask();
        } else {
            failed();
        }
    }

    @Override
    protected void failed() {
        end();
        owner.unreachable();
    }
}
