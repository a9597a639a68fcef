package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.kverbs.attributes.Gid;
import org.kverbs.internal.Structures;
import org.kverbs.internal.abi.IbvGid;
import org.kverbs.spi.VerbsContext;

/**
 * The multicast groups that a queue pair is attached to. The device refuses to destroy a queue pair that is still
 * attached.
 */
final class MulticastMemberships {

    private record Membership(Gid group, int lid) {}

    private final QueuePair queuePair;
    private final Set<Membership> memberships = ConcurrentHashMap.newKeySet();

    MulticastMemberships(QueuePair queuePair) {
        this.queuePair = queuePair;
    }

    /** See {@link QueuePair#attachMulticast}. */
    void attach(Gid group, int lid) {
        multicast("ibv_attach_mcast", group, lid, true);
    }

    /** See {@link QueuePair#detachMulticast}. */
    void detach(Gid group, int lid) {
        multicast("ibv_detach_mcast", group, lid, false);
    }

    /** Leaves all groups before the queue pair is destroyed. */
    void leaveAll() {
        memberships.forEach(this::leave);
    }

    private void leave(Membership membership) {
        SystemErrors.check(nameOf("ibv_detach_mcast", membership), multicast(membership, false));
        note(membership, false);
    }

    private void multicast(String call, Gid group, int lid, boolean attach) {
        var membership = new Membership(group, lid);
        queuePair.command(nameOf(call, membership), () -> {
            int result = multicast(membership, attach);
            if (result >= 0) {
                note(membership, attach); // inside the guard, so that a following close leaves every noted group
            }
            return result;
        });
    }

    private void note(Membership membership, boolean isIn) {
        if (isIn) {
            memberships.add(membership);
        } else {
            memberships.remove(membership);
        }
    }

    private int multicast(Membership membership, boolean attach) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment gid = arena.allocate(IbvGid.SIZE, JAVA_LONG.byteAlignment());
            Structures.GID.write(membership.group(), gid);
            VerbsContext verbs = queuePair.protectionDomain().context().verbs;
            return attach
                    ? verbs.attachMulticast(queuePair.handle(), gid, membership.lid())
                    : verbs.detachMulticast(queuePair.handle(), gid, membership.lid());
        }
    }

    private String nameOf(String call, Membership membership) {
        return call + "(" + queuePair.describe() + ", gid=" + membership.group() + ", lid=" + membership.lid() + ")";
    }
}
