package org.kverbs.embedded.internal.transport;

import org.kverbs.embedded.internal.engine.Event;
import org.kverbs.embedded.internal.objects.Counter;
import org.kverbs.embedded.internal.objects.Limits;
import org.kverbs.embedded.internal.wire.Opcode;
import org.kverbs.embedded.internal.wire.Packet;

/**
 * Controls the congestion of a connected queue pair (IBA annex A17; Zhu and others, "Congestion Control for Large-Scale
 * RDMA Deployments", SIGCOMM 2015, section 3). As the receiver of marked packets it sends congestion notifications
 * (CNP). As their sender it cuts its rate at each notification, and raises it again while none comes.
 *
 * <p>The times and the shares are those of the paper. Its steps are for links of 40 Gb/s; here they are the same part
 * of the port's rate. A period has at least {@value #LEAST_PACKETS} packets, so that a slow network can answer within
 * it. Without marks there are no notifications, and all of this costs nothing.
 */
final class Congestion {

    /** A receiver sends no more than one notification in this time, and a sender obeys no more, in nanoseconds. */
    private static final long NOTIFICATION_INTERVAL = 50_000;
    /** The rate rises once in this time, in nanoseconds. */
    private static final long PERIOD = 55_000;
    /** A period is at least as long as so many packets take at the rate. */
    private static final int LEAST_PACKETS = 2;
    /** How fast the estimate of the congestion changes: the paper's g. */
    private static final double GAIN = 1.0 / 256;
    /** The steps that halve the distance to the rate before the last cut: the paper's F. */
    private static final int RECOVERY_STEPS = 5;
    /** The rate also rises once in so many bytes: 10 MB at 40 Gb/s. */
    private static final long STEP_BYTES = 10_000_000L * Limits.PORT_KBPS / 40_000_000;
    /** The step of the additive increase, in kilobits a second: 40 Mb/s at 40 Gb/s. */
    private static final long ADDED = Limits.PORT_KBPS / 1000;
    /** The step of the hyper increase. */
    private static final long ADDED_FAST = 10 * ADDED;
    /** The additive increase adds at most this part of the rate, so that low rates do not jump. */
    private static final int SMALLEST_PART = 8;
    /** The lowest rate: however many notifications come, the queue pair sends. */
    private static final long LEAST = Limits.PORT_KBPS / 1000;

    private final Qp qp;
    private final Packet notification = new Packet(0);
    /** When the next notification may be sent, by the engine's clock. */
    private long maySend;
    /** When the next notification of the peer is obeyed. */
    private long mayCut;
    /** The rate in kilobits a second; 0 while it is not reduced. */
    private double rate;
    /** The rate to which a recovery leads. */
    private double target;
    /** The estimated congestion, 0 to 1: the paper's alpha. */
    private double estimate;
    private int periods;
    private int byteSteps;
    private long bytes;

    private final Event period = new Event() {
        @Override
        protected void happen() {
            periods++;
            estimate *= 1 - GAIN;
            rise();
        }

        @Override
        protected void failed() {
            qp.failed();
        }
    };

    Congestion(Qp qp) {
        this.qp = qp;
        notification.opcode = Opcode.CNP;
    }

    /** Ends the control of a queue pair that sends no more. */
    void stop() {
        rate = 0;
        maySend = 0;
        mayCut = 0;
        qp.hca.engine.cancel(period);
    }

    /** Returns the rate in kilobits a second; 0 while it is not reduced. */
    long rate() {
        return (long) rate;
    }

    /** Takes note of a packet of the peer, and notifies the peer if the network marked the packet. */
    void see(Packet packet) {
        if ((packet.trafficClass & Packet.CONGESTED) != Packet.CONGESTED) {
            return;
        }
        qp.counters.count(Counter.NP_ECN_MARKED_ROCE_PACKETS);
        long now = qp.hca.engine.now();
        if (now >= maySend) {
            maySend = now + NOTIFICATION_INTERVAL;
            qp.address(notification);
            notification.trafficClass &= ~Packet.CONGESTED; // no one reacts to a mark on it
            qp.counters.count(Counter.NP_CNP_SENT);
            qp.send(notification);
        }
    }

    /** Takes a notification. Those of strangers, and those that come too soon after another, have no effect. */
    void notified(Packet packet) {
        long now = qp.hca.engine.now();
        if (!qp.isConnected() || !qp.migration.isPeer(packet) || now < mayCut) {
            qp.counters.count(Counter.RP_CNP_IGNORED);
            return;
        }
        mayCut = now + NOTIFICATION_INTERVAL;
        qp.counters.count(Counter.RP_CNP_HANDLED);
        if (rate == 0) {
            rate = highest();
            estimate = 1;
        }
        target = rate;
        rate = Math.max(LEAST, rate * (1 - estimate / 2));
        estimate = (1 - GAIN) * estimate + GAIN;
        periods = 0;
        byteSteps = 0;
        bytes = 0;
        apply();
        restart();
    }

    /** Counts bytes that were sent at a reduced rate. */
    void sent(int more) {
        bytes += more;
        if (bytes >= STEP_BYTES) {
            bytes -= STEP_BYTES;
            byteSteps++;
            rise();
        }
    }

    /** Returns the rate of a queue pair that is not controlled. */
    private double highest() {
        long limit = qp.pacer.limit();
        return limit == 0 ? Limits.PORT_KBPS : Math.max(LEAST, Math.min(limit, Limits.PORT_KBPS));
    }

    private void rise() {
        int most = Math.max(periods, byteSteps);
        int least = Math.min(periods, byteSteps);
        if (least > RECOVERY_STEPS) {
            target += (least - RECOVERY_STEPS) * ADDED_FAST;
        } else if (most > RECOVERY_STEPS) {
            target += Math.min(ADDED, Math.max(1, target / SMALLEST_PART));
        }
        target = Math.min(target, highest());
        rate = (rate + target) / 2;
        if (rate >= highest() * (1 - GAIN)) {
            rate = 0;
            qp.hca.engine.cancel(period);
        } else {
            restart();
        }
        apply();
    }

    private void restart() {
        qp.hca.engine.cancel(period);
        qp.hca.engine.schedule(period, Math.max(PERIOD, (long) (LEAST_PACKETS * 8e6 * qp.pathMtu / rate)));
    }

    private void apply() {
        qp.pacer.congest((long) rate);
    }
}
