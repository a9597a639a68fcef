package org.kverbs.embedded.internal.cm;

import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.cm.Message.SidrRep;
import org.kverbs.embedded.internal.cm.Message.SidrReq;
import org.kverbs.embedded.internal.engine.Event;
import org.kverbs.internal.abi.Errno;

/** Keeps a stranger's request for a service's queue pair, and the answer for as long as the stranger can ask again. */
final class Resolved extends Event {

    static final int SUCCESS = 0;
    static final int NO_SUCH_SERVICE = 1;
    private static final int REJECTED = 2;
    private static final byte[] NOTHING = {};

    final int requestId;
    final Remote remote;
    private final Agent agent;
    private final long transaction;
    private final SidrReq question;
    private @Nullable SidrRep answer;

    Resolved(Agent agent, Remote remote, long transaction, SidrReq question) {
        this.agent = agent;
        this.remote = remote;
        this.requestId = question.requestId();
        this.transaction = transaction;
        this.question = question;
    }

    static SidrRep refusal(SidrReq to, int status) {
        return new SidrRep(to.requestId(), status, 0, to.service(), 0, NOTHING, NOTHING);
    }

    void askedAgain() {
        if (answer != null) {
            agent.answerStranger(remote, transaction, answer);
        }
    }

    int accept(int qpn, int qkey, byte[] privateData) {
        return answer(new SidrRep(requestId, SUCCESS, qpn, question.service(), qkey, NOTHING, privateData));
    }

    int reject(byte[] privateData) {
        return answer(new SidrRep(requestId, REJECTED, 0, question.service(), 0, NOTHING, privateData));
    }

    private int answer(SidrRep rep) {
        if (answer != null) {
            return -Errno.EINVAL;
        }
        answer = rep;
        agent.engine().schedule(this, Timers.nanos(Timers.SERVICE));
        remote.send(transaction, rep);
        return 0;
    }

    /** Notes that the owner leaves. */
    void abandon() {
        if (answer == null) {
            reject(NOTHING);
        }
    }

    /** Forgets a request that there was no room for, so that the peer asks again. */
    void ignore() {
        agent.engine().cancel(this);
        agent.remove(this);
    }

    @Override
    protected void happen() {
        agent.remove(this);
    }
}
