package org.kverbs.embedded.internal.verbs;

import java.lang.foreign.MemorySegment;
import org.kverbs.embedded.internal.objects.Ah;
import org.kverbs.embedded.internal.objects.Handles;
import org.kverbs.embedded.internal.objects.Pd;
import org.kverbs.embedded.internal.objects.Structures;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.embedded.internal.transport.QpAttributes;
import org.kverbs.embedded.internal.wire.Grh;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvAh;
import org.kverbs.internal.abi.IbvAhAttr;
import org.kverbs.internal.abi.IbvWc;
import org.kverbs.internal.abi.IbvWcFlags;
import org.kverbs.internal.memory.Memory;

/** Makes and finds the address handles of an open context; called with the lock held. */
final class AddressVerbs {

    private final Hca hca;
    private final Domains domains;
    private final Handles<Ah> handles;

    AddressVerbs(Hca hca, Structures structures, Domains domains) {
        this.hca = hca;
        this.domains = domains;
        this.handles = new Handles<>(structures, IbvAh.SIZE, IbvAh.HANDLE, hca.quotas.addressHandles);
    }

    Handles<Ah> handles() {
        return handles;
    }

    /** Makes an address handle from a {@code struct ibv_ah_attr}. */
    long create(long pd, long given) {
        Pd domain = domains.get(pd);
        int result = domain == null ? -Errno.EINVAL : QpAttributes.checkAddress(given, hca);
        if (domain == null || result < 0) {
            return result;
        }
        long structure = handles.add(at -> new Ah(at, domain));
        if (structure > 0) {
            handles.require(structure).route.read(given);
            domain.users++;
            Memory.putLong(structure + IbvAh.PD, pd);
        }
        return structure;
    }

    /** Fills a {@code struct ibv_ah_attr} with the way back to the sender of a datagram; callable without the lock. */
    int fromCompletion(int port, MemorySegment completion, MemorySegment grh, MemorySegment to) {
        boolean hasGrh = (Memory.getInt(completion.address() + IbvWc.WC_FLAGS) & IbvWcFlags.IBV_WC_GRH) != 0;
        var from = new Packet(0);
        if (!hasGrh || !Grh.read(from, grh.address())) {
            return -Errno.EINVAL;
        }
        int index = hca.gids.indexOf(from.destinationGidHigh, from.destinationGidLow);
        if (index < 0) {
            return -Errno.ENOENT;
        }
        to.asSlice(0, IbvAhAttr.SIZE).fill((byte) 0);
        to.set(Queries.BIG_LONG, IbvAhAttr.GRH_DGID_GLOBAL_SUBNET_PREFIX, from.sourceGidHigh);
        to.set(Queries.BIG_LONG, IbvAhAttr.GRH_DGID_GLOBAL_INTERFACE_ID, from.sourceGidLow);
        Memory.putInt(to.address() + IbvAhAttr.GRH_FLOW_LABEL, from.flowLabel);
        Memory.putByte(to.address() + IbvAhAttr.GRH_SGID_INDEX, (byte) index);
        Memory.putByte(to.address() + IbvAhAttr.GRH_HOP_LIMIT, (byte) 255);
        Memory.putByte(to.address() + IbvAhAttr.GRH_TRAFFIC_CLASS, (byte) from.trafficClass);
        Memory.putByte(to.address() + IbvAhAttr.IS_GLOBAL, (byte) 1);
        Memory.putByte(to.address() + IbvAhAttr.PORT_NUM, (byte) port);
        return 0;
    }

    int destroy(long ah) {
        Ah found = handles.get(ah);
        if (found == null) {
            return -Errno.EINVAL;
        }
        found.pd.users--;
        handles.remove(ah);
        return 0;
    }
}
