package org.kverbs;

import java.util.List;
import java.util.Objects;
import java.util.function.BiPredicate;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.Gid;
import org.kverbs.internal.values.Ranges;

/**
 * A port of a device, as a user names it on a command line.
 *
 * @param device the device
 * @param port the number of the port, from 1
 */
public record DevicePort(Device device, int port) {

    private static final Pattern GUID =
            Pattern.compile("(\\p{XDigit}{4}:){3}\\p{XDigit}{4}|0x\\p{XDigit}{1,16}|\\p{XDigit}{16}");

    /** Checks that the port is 1 or more. */
    public DevicePort {
        Objects.requireNonNull(device, "device");
        Ranges.require("port", port, 1, Integer.MAX_VALUE);
    }

    /**
     * Finds a port by any of its names:
     *
     * <ul>
     *   <li>an empty text: port 1 of the first device
     *   <li>{@code mlx5_0}: port 1 of that device
     *   <li>{@code mlx5_0/2}: that port of that device
     *   <li>{@code 0002:c903:0000:1491} or {@code 0x0002c90300001491}: the port with this GUID, which the first GID of
     *       an InfiniBand port ends with, or else port 1 of the device with this node GUID
     *   <li>{@code fe80::2:c903:0:1491} or {@code 10.0.0.1}: the port with this GID in its table
     * </ul>
     *
     * <p>Each device is opened for a short time if the text is a GUID, a GID or has a port. A device that cannot be
     * opened is left out.
     *
     * @throws DeviceNotFoundException if no such port exists; the message names the devices that do
     */
    public static DevicePort find(String name) {
        List<Device> devices = Device.list();
        DevicePort found = name.isEmpty() ? firstOf(devices) : search(devices, name);
        if (found == null) {
            throw new DeviceNotFoundException(
                    name.isEmpty() ? "any device" : "device '" + name + "'",
                    devices.stream().map(Device::name).toList());
        }
        return found;
    }

    private static @Nullable DevicePort firstOf(List<Device> devices) {
        return devices.isEmpty() ? null : new DevicePort(devices.getFirst(), 1);
    }

    private static @Nullable DevicePort search(List<Device> devices, String name) {
        for (Device device : devices) {
            if (device.name().equals(name)) {
                return new DevicePort(device, 1);
            }
        }
        int slash = name.lastIndexOf('/');
        if (slash >= 0) {
            String port = name.substring(slash + 1);
            return search(devices, (context, number) ->
                    context.device().name().equals(name.substring(0, slash)) && port.equals(Integer.toString(number)));
        }
        if (GUID.matcher(name).matches()) {
            return byGuid(devices, Long.parseUnsignedLong(name.replaceFirst("^0x", "").replace(":", ""), 16));
        }
        try {
            Gid gid = Gid.parse(name);
            return search(devices, (context, number) -> context.queryGidTable().stream()
                    .anyMatch(entry -> entry.port() == number && entry.gid().equals(gid)));
        } catch (IllegalArgumentException e) {
            return null; // not a GID either
        }
    }

    private static @Nullable DevicePort byGuid(List<Device> devices, long guid) {
        DevicePort port = search(
                devices, (context, number) -> context.queryGid(number, 0).interfaceId() == guid);
        if (port != null) {
            return port;
        }
        return devices.stream()
                .filter(device -> device.guid() == guid)
                .findFirst()
                .map(device -> new DevicePort(device, 1))
                .orElse(null);
    }

    private static @Nullable DevicePort search(List<Device> devices, BiPredicate<Context, Integer> matches) {
        for (Device device : devices) {
            try (Context context = device.open()) {
                int ports = context.queryDevice().physPortCnt();
                for (int port : IntStream.rangeClosed(1, ports).toArray()) {
                    if (matches.test(context, port)) {
                        return new DevicePort(device, port);
                    }
                }
            } catch (RdmaSystemException e) {
                // a device that cannot be opened or asked has no port of this name
            }
        }
        return null;
    }

    /** Returns {@code mlx5_0/1}, which {@link #find} takes. */
    @Override
    public String toString() {
        return device.name() + "/" + port;
    }
}
