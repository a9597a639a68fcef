package org.kverbs.embedded.internal.transport;

import org.kverbs.embedded.Semantics;
import org.kverbs.embedded.internal.objects.AddressVector;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.internal.Refusal;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvAhAttr;
import org.kverbs.internal.abi.IbvEventType;
import org.kverbs.internal.abi.IbvMigState;
import org.kverbs.internal.abi.IbvQpAttr;
import org.kverbs.internal.abi.IbvQpAttrMask;
import org.kverbs.internal.abi.IbvQpState;
import org.kverbs.internal.memory.Memory;

/**
 * Moves a connected queue pair to its alternate path (IBA volume 1, 17.2.8). The program loads the path and asks for
 * REARM. The queue pair is ARMED when it hears from a peer that is in REARM or ARMED, too: the packets of such a peer
 * have the migration bit clear. It then migrates when its requests have no retry left, when the program asks for
 * MIGRATED, or when a packet with the bit set comes by the alternate path.
 *
 * <pre>
 *               load, REARM             a packet without the bit
 *   MIGRATED ----------------&gt; REARM ----------------------------&gt; ARMED
 *      ^                         |                                   |
 *      +------ MIGRATED ---------+                                   |
 *      +------- no retry left, MIGRATED, a packet with the bit ------+
 * </pre>
 */
final class PathMigration {

    private final Qp qp;
    private final AddressVector alternate = new AddressVector();
    /** The peer's address on the path that the queue pair left: packets that were on their way may come from it. */
    private final AddressVector former = new AddressVector();

    private int state = IbvMigState.IBV_MIG_MIGRATED;
    private int alternateTimeout;
    /** True from the load of a path until the queue pair migrates to it. */
    private boolean isLoaded;
    private boolean hasFormer;
    /** True if the program knows that the peer migrated to another path than the loaded one. */
    private boolean toldError;

    PathMigration(Qp qp) {
        this.qp = qp;
    }

    int state() {
        return state;
    }

    /** Tells whether packets of the peer change nothing here: no other path is loaded or armed. */
    boolean isStill() {
        return state == IbvMigState.IBV_MIG_MIGRATED;
    }

    /** Tells whether the packets of this queue pair have the migration bit. */
    boolean marks() {
        return state == IbvMigState.IBV_MIG_MIGRATED;
    }

    void reset() {
        state = IbvMigState.IBV_MIG_MIGRATED;
        isLoaded = false;
        hasFormer = false;
        toldError = false;
    }

    /** Checks what {@code ibv_modify_qp} gives of paths and states. Returns 0 or -errno. */
    int check(long given, int mask) {
        boolean loads = (mask & IbvQpAttrMask.IBV_QP_ALT_PATH) != 0;
        boolean moves = (mask & IbvQpAttrMask.IBV_QP_PATH_MIG_STATE) != 0;
        if ((loads || moves) && qp.hca.semantics == Semantics.RXE) {
            return Refusal.because(Errno.EINVAL, "Linux has no alternate paths on RoCE.");
        }
        if (loads) {
            int result = checkPath(given);
            if (result < 0) {
                return result;
            }
        }
        return moves ? checkState(Memory.getInt(given + IbvQpAttr.PATH_MIG_STATE), loads) : 0;
    }

    private int checkPath(long given) {
        long path = given + IbvQpAttr.ALT_AH_ATTR;
        boolean portFits = Memory.getByte(given + IbvQpAttr.ALT_PORT_NUM) == Memory.getByte(path + IbvAhAttr.PORT_NUM);
        if (!portFits || Memory.getShort(given + IbvQpAttr.ALT_PKEY_INDEX) != 0
                || Byte.toUnsignedInt(Memory.getByte(given + IbvQpAttr.ALT_TIMEOUT)) > 31) {
            return -Errno.EINVAL;
        }
        return QpAttributes.checkAddress(path, qp.hca);
    }

    private int checkState(int to, boolean loads) {
        return switch (to) {
            case IbvMigState.IBV_MIG_MIGRATED -> 0;
            case IbvMigState.IBV_MIG_REARM -> loads || isLoaded
                    ? 0
                    : Refusal.because(Errno.EINVAL,
                            "There is no alternate path to arm: none was loaded since the last migration.");
            case IbvMigState.IBV_MIG_ARMED -> state == to && !loads
                    ? 0
                    : Refusal.because(Errno.EINVAL,
                            "A queue pair becomes ARMED by itself, when it hears from a peer that is armed, too: ask"
                                    + " for REARM.");
            default -> -Errno.EINVAL;
        };
    }

    /** Carries out what was checked. The attributes are kept at {@code kept}, but for the state of migration. */
    void modify(long given, int mask, long kept) {
        if ((mask & IbvQpAttrMask.IBV_QP_ALT_PATH) != 0) {
            alternate.read(kept + IbvQpAttr.ALT_AH_ATTR);
            alternateTimeout = Byte.toUnsignedInt(Memory.getByte(kept + IbvQpAttr.ALT_TIMEOUT));
            isLoaded = true;
            if (state == IbvMigState.IBV_MIG_ARMED) {
                state = IbvMigState.IBV_MIG_REARM; // the peer armed another path
            }
        }
        if ((mask & IbvQpAttrMask.IBV_QP_PATH_MIG_STATE) == 0) {
            return;
        }
        int to = Memory.getInt(given + IbvQpAttr.PATH_MIG_STATE);
        if (to == IbvMigState.IBV_MIG_REARM) {
            state = to;
            hasFormer = false;
            toldError = false;
        } else if (to == IbvMigState.IBV_MIG_MIGRATED && state == IbvMigState.IBV_MIG_ARMED) {
            migrate();
        } else {
            state = to;
        }
    }

    /** Migrates because no retry is left on this path. Returns false if the queue pair is not armed. */
    boolean leavesBrokenPath() {
        boolean armed = state == IbvMigState.IBV_MIG_ARMED;
        if (armed) {
            migrate();
        }
        return armed;
    }

    private void migrate() {
        former.copy(qp.route);
        hasFormer = true;
        qp.route.copy(alternate);
        qp.timeout = alternateTimeout;
        state = IbvMigState.IBV_MIG_MIGRATED;
        isLoaded = false;
        QpAttributes attributes = qp.attributes();
        if (attributes != null) {
            attributes.moveToAlternate();
        }
        if (qp.state == IbvQpState.IBV_QPS_RTS || qp.state == IbvQpState.IBV_QPS_SQD) {
            qp.requester.join();
            qp.hca.engine.ready(qp); // it may wait for a burst to the former address
        }
        qp.handles.raise(IbvEventType.IBV_EVENT_PATH_MIG);
    }

    /**
     * Tells whether a packet comes from the peer by a path that this queue pair takes packets from, and follows the
     * peer if it migrated.
     */
    boolean admits(Packet packet) {
        boolean primary = comesFrom(qp.route, packet);
        if (state == IbvMigState.IBV_MIG_MIGRATED) {
            return primary || hasFormer && comesFrom(former, packet);
        }
        if (state == IbvMigState.IBV_MIG_REARM) {
            if (primary && !packet.migrated) {
                state = IbvMigState.IBV_MIG_ARMED;
            }
            return primary;
        }
        if (!packet.migrated) {
            return primary;
        }
        if (comesFrom(alternate, packet) && goesTo(alternate, packet)) {
            migrate();
            return true;
        }
        if (primary && !toldError) {
            toldError = true; // once: a peer may send many such packets
            qp.handles.raise(IbvEventType.IBV_EVENT_PATH_MIG_ERR);
        }
        return primary;
    }

    /** Tells whether a packet comes from an address of the peer, without any consequence. */
    boolean isPeer(Packet packet) {
        return comesFrom(qp.route, packet)
                || hasFormer && comesFrom(former, packet)
                || state == IbvMigState.IBV_MIG_ARMED && comesFrom(alternate, packet);
    }

    private static boolean comesFrom(AddressVector peer, Packet packet) {
        return packet.sourceGidLow == peer.gidLow && packet.sourceGidHigh == peer.gidHigh;
    }

    private boolean goesTo(AddressVector path, Packet packet) {
        return packet.destinationGidLow == qp.hca.gids.low(path.sourceIndex)
                && packet.destinationGidHigh == qp.hca.gids.high(path.sourceIndex);
    }
}
