package org.kverbs.embedded;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import org.kverbs.Device;
import org.kverbs.embedded.internal.engine.Engine;
import org.kverbs.embedded.internal.objects.Gids;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.spi.VerbsDevice;
import org.kverbs.spi.VerbsProvider;

/** The devices of a fabric, in the order in which they were added. Any thread can call. */
final class FabricDevices {

    /** 198.18.0.0, the network for tests of network devices (RFC 2544). */
    private static final int NETWORK = 198 << 24 | 18 << 16;
    private static final int LARGEST_MTU = 4096;

    private final Engine engine;
    private final Random random;
    private final List<EmbeddedDevice> embedded = new ArrayList<>();
    private final List<Device> devices = new ArrayList<>();

    /** @param random draws what each device draws its numbers and keys from */
    FabricDevices(Engine engine, Random random) {
        this.engine = engine;
        this.random = random;
    }

    /** Makes the next device, which {@link #add} adds. */
    synchronized Hca make(String name, Semantics semantics, DeviceLimits limits) {
        int number = devices.size() + 1;
        long guid = 0x0200_00ff_fe00_0000L | number;
        long v4 = 0xffffL << 32 | Integer.toUnsignedLong(NETWORK + number);
        var gids = new Gids(0xfe80L << 48, guid, 0, v4);
        return new Hca(name, guid, engine, gids, LARGEST_MTU, new Random(random.nextLong()), semantics, limits);
    }

    /** Adds a device. */
    synchronized EmbeddedDevice add(Hca hca, VerbsProvider provider) {
        var device = new EmbeddedDevice(hca);
        embedded.add(device);
        devices.add(Device.of(provider, device));
        return device;
    }

    /** Returns the devices as the provider has them. */
    synchronized List<VerbsDevice> embedded() {
        return List.copyOf(embedded);
    }

    /** Returns the devices as programs have them. */
    synchronized List<Device> all() {
        return List.copyOf(devices);
    }

    /**
     * Returns what is behind a device.
     *
     * @throws IllegalArgumentException if the device is not of this fabric
     */
    synchronized Hca hca(Device device) {
        int index = devices.indexOf(device);
        if (index < 0) {
            throw new IllegalArgumentException(device.name() + " is not a device of this fabric");
        }
        return embedded.get(index).hca();
    }

    /** Does something to each device. */
    synchronized void forEach(Consumer<Hca> action) {
        embedded.forEach(each -> action.accept(each.hca()));
    }
}
