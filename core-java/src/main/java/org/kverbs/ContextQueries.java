package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.EnumSet;
import java.util.Set;
import org.kverbs.attributes.AddressAttributes;
import org.kverbs.attributes.DeviceAttributesEx;
import org.kverbs.attributes.DeviceCapability;
import org.kverbs.attributes.EthernetAddress;
import org.kverbs.attributes.Feature;
import org.kverbs.attributes.MacAddress;
import org.kverbs.internal.Refusal;
import org.kverbs.internal.Structures;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvAhAttr;
import org.kverbs.internal.abi.IbvDeviceAttrEx;
import org.kverbs.internal.abi.IbvValuesEx;
import org.kverbs.internal.abi.IbvValuesMask;

/** Queries of a device and its ports that few programs make. */
final class ContextQueries {

    private static final int MEGABITS = 100;
    private static final ValueLayout.OfLong BIG_LONG = JAVA_LONG.withOrder(ByteOrder.BIG_ENDIAN);

    /** Features whose calls a driver has for all its devices, and that the attributes of a device show or deny. */
    private static final Set<Feature> SHOWN = EnumSet.of(
            Feature.DEVICE_MEMORY, Feature.RATE_LIMIT, Feature.TAG_MATCHING, Feature.WORK_QUEUES, Feature.XRC);

    private ContextQueries() {}

    /** Asks for {@link Context#supports}. The caller has entered the guard of the context. */
    static boolean supports(Context context, Feature feature) {
        return switch (feature) {
            // The calls that make such queues and regions say nothing of it.
            case COMPLETION_TIMESTAMPS, ON_DEMAND_PAGING, SEGMENTATION -> offers(feature, context.queryDeviceEx());
            case DEVICE_MEMORY, RATE_LIMIT, TAG_MATCHING, WORK_QUEUES, XRC -> context.verbs.has(feature.verb())
                    && offers(feature, context.queryDeviceEx());
            case PATH_MIGRATION -> PathMigration.isIn(context);
            case DOMAIN_ALLOCATOR -> context.verbs.nativeAddress() != 0 && context.verbs.has(feature.verb());
            default -> context.verbs.has(feature.verb());
        };
    }

    /**
     * Returns whether the attributes of the device let it have a feature whose call was refused. A driver can have the
     * calls for devices that lack the feature, and then any errno is the answer. The caller has entered the guard of
     * the context or of an object made from it.
     */
    static boolean offers(Context context, Feature feature, int errno) {
        if (!SHOWN.contains(feature)) {
            return true;
        }
        String reason = Refusal.take(errno); // the query must not replace it
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attributes = arena.allocate(IbvDeviceAttrEx.SIZE, JAVA_LONG.byteAlignment());
            return context.verbs.queryDeviceEx(attributes) < 0
                    || offers(feature, Structures.DEVICE_EX.read(attributes));
        } finally {
            if (reason != null) {
                Refusal.because(errno, reason);
            }
        }
    }

    private static boolean offers(Feature feature, DeviceAttributesEx attributes) {
        return switch (feature) {
            case COMPLETION_TIMESTAMPS -> attributes.completionTimestampMask() != 0;
            case ON_DEMAND_PAGING -> attributes.onDemandPaging().isSupported();
            case DEVICE_MEMORY -> attributes.maxDmSize() != 0;
            case RATE_LIMIT -> attributes.packetPacing().maxKbps() != 0;
            case SEGMENTATION -> attributes.segmentation().maxTso() != 0;
            case TAG_MATCHING -> attributes.tagMatching().maxTags() != 0;
            case WORK_QUEUES -> attributes.maxWqTypeRq() != 0;
            case XRC -> attributes.capabilities().contains(DeviceCapability.XRC);
            default -> true;
        };
    }

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
            return new EthernetAddress(
                    new MacAddress(mac.get(BIG_LONG, 0)), Short.toUnsignedInt(vlan.get(JAVA_SHORT, 0)));
        }
    }
}
