package org.kverbs;

import java.util.EnumSet;
import java.util.Set;
import org.kverbs.attributes.AccessFlag;
import org.kverbs.attributes.AddressAttributes;
import org.kverbs.attributes.AddressAttributesBuilder;
import org.kverbs.attributes.ConnectOptions;
import org.kverbs.attributes.Feature;
import org.kverbs.attributes.GlobalRoute;
import org.kverbs.attributes.Mtu;
import org.kverbs.attributes.PortAttributes;
import org.kverbs.attributes.QueuePairAttributes;
import org.kverbs.attributes.QueuePairAttributesBuilder;
import org.kverbs.attributes.QueuePairEndpoint;
import org.kverbs.attributes.QueuePairState;
import org.kverbs.attributes.QueuePairType;

/** The steps that bring a queue pair from RESET to RTS, with the options and the peer's endpoint filled in. */
final class QueuePairConnector {

    private static final int USUAL_READ_DEPTH = 16;

    private final QueuePairControl qp;
    private final ConnectOptions options;
    private final Context context;

    QueuePairConnector(QueuePairControl qp, ConnectOptions options) {
        this.qp = qp;
        this.options = options;
        this.context = qp.context();
    }

    void toInit() {
        QueuePairAttributesBuilder attributes = QueuePairAttributes.builder()
                .state(QueuePairState.INIT)
                .port(options.port());
        if (qp.type() != QueuePairType.RAW_PACKET) {
            attributes.pkeyIndex(options.pkeyIndex());
        }
        if (qp.type() == QueuePairType.UD) {
            attributes.qkey(options.qkey());
        } else if (qp.type() != QueuePairType.RAW_PACKET) {
            attributes.accessFlags(access());
        }
        qp.modify(attributes.build());
    }

    private Set<AccessFlag> access() {
        Set<AccessFlag> chosen = options.access();
        if (chosen != null) {
            return chosen;
        }
        return switch (qp.type()) {
            case RC -> ofReliable();
            case XRC_RECV -> Set.of(AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_ATOMIC);
            case XRC_SEND -> Set.of();
            default -> Set.of(AccessFlag.REMOTE_WRITE);
        };
    }

    private Set<AccessFlag> ofReliable() {
        Set<AccessFlag> usual =
                EnumSet.of(AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_ATOMIC);
        if (context.supports(Feature.FLUSH)) {
            usual.add(AccessFlag.FLUSH_GLOBAL); // older kernels do not know it
        }
        return usual;
    }

    void toReadyToReceive(QueuePairEndpoint remote) {
        QueuePairAttributesBuilder attributes = QueuePairAttributes.builder()
                .state(QueuePairState.RTR)
                .address(addressOf(remote))
                .pathMtu(mtu(remote))
                .destQpn(remote.queuePairNumber())
                .rqPsn(remote.psn());
        if (qp.type() == QueuePairType.RC || qp.type() == QueuePairType.XRC_RECV) {
            int depth = options.maxDestReadAtomic();
            attributes
                    .maxDestReadAtomic(
                            depth >= 0 ? depth : Math.min(USUAL_READ_DEPTH, context.queryDevice().maxQpRdAtom()))
                    .minRnrTimer(options.minRnrTimer());
        }
        qp.modify(attributes.build());
    }

    void toReadyToReceive() {
        qp.modify(QueuePairAttributes.builder().state(QueuePairState.RTR).build());
    }

    void toReadyToSend() {
        QueuePairAttributesBuilder attributes = QueuePairAttributes.builder().state(QueuePairState.RTS);
        if (qp.type() != QueuePairType.RAW_PACKET) {
            attributes.sqPsn(qp.psn());
        }
        if (qp.type() == QueuePairType.XRC_RECV) {
            attributes.timeout(options.timeout());
        } else if (qp.type() == QueuePairType.RC || qp.type() == QueuePairType.XRC_SEND) {
            int depth = options.maxReadAtomic();
            attributes
                    .timeout(options.timeout())
                    .retryCount(options.retryCount())
                    .rnrRetry(options.rnrRetry())
                    .maxReadAtomic(
                            depth >= 0 ? depth : Math.min(USUAL_READ_DEPTH, context.queryDevice().maxQpInitRdAtom()));
        }
        qp.modify(attributes.build());
    }

    QueuePairEndpoint endpoint() {
        PortAttributes port = context.queryPort(options.port());
        return new QueuePairEndpoint(
                port.lid(),
                context.queryGid(options.port(), gidIndex()),
                qp.number(),
                qp.psn(),
                port.activeMtu() == Mtu.UNKNOWN ? 0 : port.activeMtu().bytes(),
                qp.type() == QueuePairType.UD || qp.type() == QueuePairType.DRIVER ? options.qkey() : 0);
    }

    AddressAttributes addressOf(QueuePairEndpoint remote) {
        AddressAttributesBuilder address = AddressAttributes.builder()
                .port(options.port())
                .destinationLid(remote.lid())
                .serviceLevel(options.serviceLevel());
        if (!remote.gid().isZero()) {
            address.globalRoute(new GlobalRoute(
                    remote.gid(), options.flowLabel(), gidIndex(), options.hopLimit(), options.trafficClass()));
        }
        return address.build();
    }

    private int gidIndex() {
        return options.gidIndex() >= 0 ? options.gidIndex() : context.defaultGidIndex(options.port());
    }

    private Mtu mtu(QueuePairEndpoint remote) {
        Mtu chosen = options.pathMtu();
        if (chosen != null) {
            return chosen;
        }
        Mtu active = context.queryPort(options.port()).activeMtu();
        return remote.mtu() != 0 && remote.mtu() < active.bytes() ? Mtu.ofBytes(remote.mtu()) : active;
    }
}
