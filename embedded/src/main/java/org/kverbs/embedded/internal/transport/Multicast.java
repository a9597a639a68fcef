package org.kverbs.embedded.internal.transport;

import java.util.ArrayList;
import java.util.List;
import org.kverbs.embedded.internal.objects.Gids;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvQpType;

/** Keeps the queue pairs of a device that are members of multicast groups (IBA volume 1, 10.5). */
public final class Multicast {

    private record Member(long gidHigh, long gidLow, Qp qp) {
        boolean isOf(long high, long low) {
            return gidHigh == high && gidLow == low;
        }
    }

    private final Hca hca;
    private final List<Member> members = new ArrayList<>();

    Multicast(Hca hca) {
        this.hca = hca;
    }

    private boolean isEmpty(long high, long low) {
        return members.stream().noneMatch(each -> each.isOf(high, low));
    }

    /** Adds a member; a second attach changes nothing. Returns 0 or -errno. */
    public int attach(Qp qp, long high, long low) {
        if (!Gids.isMulticast(high, low) || qp.type != IbvQpType.IBV_QPT_UD) {
            return -Errno.EINVAL;
        }
        int result = isEmpty(high, low) ? hca.link.joinGroup(high, low) : 0;
        if (result == 0 && members.stream().noneMatch(each -> each.qp == qp && each.isOf(high, low))) {
            members.add(new Member(high, low, qp));
        }
        return result;
    }

    public int detach(Qp qp, long high, long low) {
        if (!members.removeIf(each -> each.qp == qp && each.isOf(high, low))) {
            return -Errno.EINVAL;
        }
        if (isEmpty(high, low)) {
            hca.link.leaveGroup(high, low);
        }
        return 0;
    }

    /** Removes a queue pair from all groups. */
    public void forget(Qp qp) {
        for (int i = members.size() - 1; i >= 0; i--) {
            Member member = members.get(i);
            if (member.qp == qp) {
                detach(qp, member.gidHigh, member.gidLow);
            }
        }
    }

    public boolean contains(Qp qp) {
        return members.stream().anyMatch(each -> each.qp == qp);
    }

    /** Gives a packet to all members of its group. */
    void take(Packet packet) {
        for (int i = 0; i < members.size(); i++) {
            Member member = members.get(i);
            if (member.isOf(packet.destinationGidHigh, packet.destinationGidLow)) {
                member.qp.arrivals.take(packet);
            }
        }
    }
}
