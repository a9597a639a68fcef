package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
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
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvAhAttr;
import org.kverbs.internal.abi.IbvValuesEx;
import org.kverbs.internal.abi.IbvValuesMask;

/** Queries of a device and its ports that few programs make. */
final class ContextQueries {

    private static final int MEGABITS = 100;
    private static final ValueLayout.OfLong BIG_LONG = JAVA_LONG.withOrder(ByteOrder.BIG_ENDIAN);

    private ContextQueries() {}

    /** See {@link Context#queryClock}. */
    static long clock(Context context) {
        String operation = "ibv_query_rt_values_ex(" + context.device().name() + ")";
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment values = arena.allocate(IbvValuesEx.SIZE, JAVA_LONG.byteAlignment());
            values.set(JAVA_INT, IbvValuesEx.COMP_MASK, IbvValuesMask.IBV_VALUES_MASK_RAW_CLOCK);
            context.command(
                    errno -> context.refusal(Feature.DEVICE_CLOCK, operation, errno),
                    () -> context.verbs.clock().queryRealTimeValues(values));
            if ((values.get(JAVA_INT, IbvValuesEx.COMP_MASK) & IbvValuesMask.IBV_VALUES_MASK_RAW_CLOCK) == 0) {
                throw context.refusal(Feature.DEVICE_CLOCK, operation, Errno.EOPNOTSUPP); // it has another value only
            }
            // Drivers put the ticks into the nanoseconds and leave the seconds 0.
            return values.get(JAVA_LONG, IbvValuesEx.RAW_CLOCK_TV_SEC) * 1_000_000_000
                    + values.get(JAVA_LONG, IbvValuesEx.RAW_CLOCK_TV_NSEC);
        }
    }

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
            throw new IllegalArgumentException(
                    address + " has no global route: an Ethernet address is found by the GID");
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment structure = arena.allocate(IbvAhAttr.SIZE, JAVA_LONG.byteAlignment());
            Structures.ADDRESS.write(address, structure);
            MemorySegment mac = arena.allocate(JAVA_LONG); // its last six bytes get the address, and it reads as one
            MemorySegment vlan = arena.allocate(JAVA_SHORT);
            context.command(
                    "ibv_resolve_eth_l2_from_gid(" + context.device().name() + ", " + address + ")",
                    () -> context.verbs.ports().resolveEthernet(structure, mac.asSlice(2), vlan));
            return new EthernetAddress(mac.get(BIG_LONG, 0), Short.toUnsignedInt(vlan.get(JAVA_SHORT, 0)));
        }
    }
}
