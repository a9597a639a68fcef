package org.kverbs.embedded.internal.objects;

import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.engine.Engine;
import org.kverbs.embedded.internal.watch.Watch;

/**
 * What all objects of a device share: its lock and clock, its addresses, its memory keys, its port. It belongs to the
 * engine's lock.
 */
public abstract class DeviceState {

    public final String name;
    public final long guid;
    public final Engine engine;
    public final Gids gids;
    public final Random random;
    public final Keys keys;
    /** What is counted by no queue pair, and what those had counted that are gone. */
    public final Counters counters = new Counters();
    public PacketPort link = UnpluggedPort.INSTANCE;
    /** The diagnostics, if they are on. */
    public @Nullable Watch watch;

    private final int mtu;

    /**
     * @param guid node GUID, host order
     * @param mtu bytes, an MTU of RDMA: 256 to 4096
     * @param random gives queue pair numbers, keys and so on
     */
    protected DeviceState(String name, long guid, Engine engine, Gids gids, int mtu, Random random) {
        this.name = name;
        this.guid = guid;
        this.engine = engine;
        this.gids = gids;
        this.mtu = mtu;
        this.random = random;
        this.keys = new Keys(random);
    }

    /** Sets what carries its packets from now on; with the lock, or before it is opened. */
    public void connect(PacketPort carrier) {
        this.link = carrier;
    }

    /** Turns the diagnostics on for what is posted from now on; with the lock, or before it is opened. */
    public void watch(Watch diagnostics) {
        this.watch = diagnostics;
    }

    /** A peer reads or writes memory of this side on its own. */
    public void touched(long address, long bytes, boolean writes) {
        if (watch != null) {
            watch.touched(address, bytes, writes);
        }
    }

    public String name() {
        return name;
    }

    public long guid() {
        return guid;
    }

    public Gids gids() {
        return gids;
    }

    public Engine engine() {
        return engine;
    }

    public int mtu() {
        return mtu;
    }
}
