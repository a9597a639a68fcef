package org.kverbs.embedded;

import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.kverbs.embedded.internal.device.Gids;
import org.kverbs.embedded.internal.device.Hca;
import org.kverbs.embedded.internal.device.Switch;
import org.kverbs.embedded.internal.engine.Engine;
import org.kverbs.spi.VerbsDevice;

/** Embedded devices that are joined in this JVM. */
public final class EmbeddedFabric {

    /** 198.18.0.0, of the network for tests of network devices (RFC 2544). */
    private static final int NETWORK = 198 << 24 | 18 << 16;

    private final Engine engine = new Engine(false);
    private final Switch network = new Switch(engine);
    private final List<VerbsDevice> devices = new ArrayList<>();

    private EmbeddedFabric() {}

    static EmbeddedFabric create() {
        var fabric = new EmbeddedFabric();
        fabric.add(new SecureRandom());
        fabric.add(new SecureRandom());
        return fabric;
    }

    private void add(Random random) {
        int number = devices.size();
        long guid = 0x0200_00ff_fe00_0000L | number + 1;
        long v4 = 0xffffL << 32 | Integer.toUnsignedLong(NETWORK + number + 1);
        var gids = new Gids(0xfe80L << 48, guid, 0, v4);
        var hca = new Hca("embedded" + number, guid, engine, gids, 4096, random);
        network.add(hca);
        devices.add(new EmbeddedDevice(hca));
    }

    List<VerbsDevice> verbsDevices() {
        return List.copyOf(devices);
    }
}
