package org.kverbs.embedded.internal.cm;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.transport.Gsi;
import org.kverbs.internal.abi.Errno;

/** Keeps the ports of all ids, for each port space. */
final class Ports {

    /** Linux uses the same range. */
    private static final int FIRST = 32768;
    private static final int LAST = 60999;

    private final Random random;
    private final Map<Integer, List<Id>> taken = new HashMap<>();

    Ports(Random random) {
        this.random = random;
    }

    private static int key(int protocol, int port) {
        return (protocol & 0xff) << 16 | port;
    }

    private List<Id> at(int protocol, int port) {
        return taken.getOrDefault(key(protocol, port), List.of());
    }

    /**
     * Takes a port for an id at an address; port 0 stands for any free port.
     *
     * @return the port, or -EADDRINUSE, or -EADDRNOTAVAIL if no port is free
     */
    int take(Id id, Address address) {
        int port = address.port();
        if (port == 0) {
            port = free(id.protocol());
        } else if (at(id.protocol(), port).stream().anyMatch(each -> excludes(each, id, address))) {
            return -Errno.EADDRINUSE;
        }
        if (port > 0) {
            taken.computeIfAbsent(key(id.protocol(), port), k -> new ArrayList<>()).add(id);
        }
        return port;
    }

    private int free(int protocol) {
        int count = LAST - FIRST + 1;
        int start = random.nextInt(count);
        for (int i = 0; i < count; i++) {
            int port = FIRST + (start + i) % count;
            if (!taken.containsKey(key(protocol, port))) {
                return port;
            }
        }
        return -Errno.EADDRNOTAVAIL;
    }

    private static boolean excludes(Id other, Id id, Address address) {
        return overlap(other, id, address) && !(other.options.reuses && id.options.reuses);
    }

    private static boolean overlap(Id other, Id id, Address address) {
        Address theirs = other.source();
        boolean sameFamily = theirs.isV4() == address.isV4();
        boolean both = sameFamily || !theirs.isV4() && theirs.isAny() && !other.options.ownFamilyOnly
                || !address.isV4() && address.isAny() && !id.options.ownFamilyOnly;
        return both && (theirs.isAny() || address.isAny() || theirs.isSameHost(address));
    }

    void give(Id id) {
        int key = key(id.protocol(), id.source().port());
        List<Id> all = taken.get(key);
        if (all != null && all.remove(id) && all.isEmpty()) {
            taken.remove(key);
        }
    }

    /** Tells whether another id listens at this id's address. */
    boolean isServed(Id id) {
        return at(id.protocol(), id.source().port()).stream()
                .anyMatch(each -> each != id && each.isListening() && overlap(each, id, id.source()));
    }

    /**
     * Returns the id that listens at an address of a device. A listener at that address comes before a listener at the
     * wildcard address.
     */
    @Nullable Id find(int protocol, Address address, Gsi port) {
        Id found = null;
        for (Id id : at(protocol, address.port())) {
            Address listens = id.source();
            boolean family = listens.isV4() == address.isV4() || !listens.isV4() && !id.options.ownFamilyOnly;
            boolean all = listens.isAny() && family;
            if (id.isListening() && id.isAt(port) && (all && found == null || listens.isSameHost(address))) {
                found = id;
            }
        }
        return found;
    }
}
