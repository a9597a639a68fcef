package org.kverbs.embedded.internal.cm;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.objects.Gids;
import org.kverbs.embedded.internal.transport.Gsi;
import org.kverbs.embedded.internal.transport.Hca;

/**
 * Finds the device that an IP address belongs to or leads to. Loopback addresses stand for the first device with
 * another address, unless a device has the loopback address itself.
 */
final class Devices {

    /** A way to a peer: the device, its source address, and the destination GID. */
    record Way(Remote remote, Address source) {}

    private final List<Hca> devices = new ArrayList<>();

    void add(Hca device) {
        devices.add(device);
    }

    List<Hca> all() {
        return devices;
    }

    /** Returns the device with an address; null if there is none. */
    @Nullable Gsi at(Address address) {
        for (Hca device : devices) {
            if (device.gids().indexOf(address.high(), address.low()) >= 0) {
                return device.gsi();
            }
        }
        Hca first = address.isLoopback() ? loopback() : null;
        return first == null ? null : first.gsi();
    }

    /** Returns the device that the loopback addresses stand for. */
    private @Nullable Hca loopback() {
        for (Hca device : devices) {
            if (!own(device).isLoopback()) {
                return device;
            }
        }
        return null;
    }

    /** Returns a device's address: its first IPv4 address if it has one. */
    private static Address own(Hca device) {
        Gids gids = device.gids();
        int index = Math.max(0, indexOf(gids, true));
        return new Address(gids.high(index), gids.low(index), 0);
    }

    private static int indexOf(Gids gids, boolean v4) {
        for (int i = 0; i < gids.size(); i++) {
            if (Gids.isV4(gids.high(i), gids.low(i)) == v4) {
                return i;
            }
        }
        return -1;
    }

    /**
     * Returns the way to an address; null if there is none.
     *
     * @param bound the device to start from; null for any
     * @param preferred the device to take if the usual routes of several devices lead there; null for the first
     * @param source the source address; may be a wildcard
     */
    @Nullable Way find(@Nullable Gsi bound, @Nullable String preferred, Address source, Address destination) {
        Way way = null;
        Way usual = null;
        for (Hca device : devices) {
            boolean may = bound == null || bound.device() == device;
            Way by = may && device.leadsTo(destination.high(), destination.low())
                    ? from(device, source, destination) : null;
            if (by != null && device.isUsualTo(destination.high(), destination.low())) {
                if (preferred == null || preferred.equals(device.name())) {
                    return by;
                }
                usual = usual == null ? by : usual;
            }
            way = way == null ? by : way;
        }
        if (way != null) {
            return usual == null ? way : usual;
        }
        Hca target = destination.isLoopback() ? loopback() : null;
        if (target == null) {
            return null;
        }
        Hca start = bound == null ? target : bound.device();
        Address own = own(target);
        if (!start.leadsTo(own.high(), own.low())) {
            return null;
        }
        Way alias = from(start, Address.ANY, own);
        return alias == null
                ? null : new Way(alias.remote, source.isAny() ? destination.withPort(source.port()) : source);
    }

    private static @Nullable Way from(Hca device, Address source, Address destination) {
        Gids gids = device.gids();
        int given = gids.indexOf(source.high(), source.low());
        int index = given < 0 ? indexOf(gids, destination.isV4()) : given;
        if (index < 0) {
            return null;
        }
        var remote = new Remote(device.gsi(), index, destination.high(), destination.low());
        return new Way(remote, source.isAny() ? new Address(gids.high(index), gids.low(index), source.port()) : source);
    }
}
