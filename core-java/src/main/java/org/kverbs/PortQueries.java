package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import org.kverbs.attributes.AddressAttributes;
import org.kverbs.attributes.EthernetAddress;
import org.kverbs.attributes.Feature;
import org.kverbs.internal.Structures;
import org.kverbs.internal.abi.IbvAhAttr;

/** Questions about a port that few programs ask. */
final class PortQueries {

    private static final int MEGABITS = 100;
    private static final ValueLayout.OfLong BIG_LONG = JAVA_LONG.withOrder(ByteOrder.BIG_ENDIAN);

    private PortQueries() {}

    /** See {@link Context#queryPortSpeed}. */
    static long speed(Context context, int port) {
        String operation = "ibv_query_port_speed(" + context.device().name() + ", port=" + port + ")";
        var speed = new long[1];
        context.command(errno -> context.refusal(Feature.PORT_SPEED, operation, errno), () -> {
            speed[0] = context.verbs.ports().queryPortSpeed(port);
            return (int) Math.min(speed[0], 0);
        });
        return speed[0] * MEGABITS;
    }

    /** See {@link Context#resolveEthernet}. */
    static EthernetAddress resolveEthernet(Context context, AddressAttributes address) {
        if (address.globalRoute() == null) {
            throw new IllegalArgumentException(address + " has no global route: an Ethernet address is found by the GID");
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment structure = arena.allocate(IbvAhAttr.SIZE, JAVA_LONG.byteAlignment());
            Structures.ADDRESS.write(address, structure);
            MemorySegment mac = arena.allocate(JAVA_LONG); // the last six bytes are the address, so that it reads as one
            MemorySegment vlan = arena.allocate(JAVA_SHORT);
            context.command(
                    "ibv_resolve_eth_l2_from_gid(" + context.device().name() + ", " + address + ")",
                    () -> context.verbs.ports().resolveEthernet(structure, mac.asSlice(2), vlan));
            return new EthernetAddress(mac.get(BIG_LONG, 0), Short.toUnsignedInt(vlan.get(JAVA_SHORT, 0)));
        }
    }
}
