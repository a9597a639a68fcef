package org.kverbs.embedded.internal.cm;

import java.util.HashMap;
import java.util.Map;
import org.kverbs.internal.abi.Errno;

/** The addresses that were found for ids and that no program has queried yet. Called with the lock held. */
final class AddressQueries {

    private final AddressNames names;
    private final Map<Id, Long> found = new HashMap<>();

    AddressQueries(AddressNames names) {
        this.names = names;
    }

    /** Keeps addresses for an id and tells it; refuses if it has some. Returns 0 or -errno. */
    int add(Id id, long info) {
        if (found.putIfAbsent(id, info) != null) {
            return -Errno.EBUSY;
        }
        id.raise(CmEvent.ADDRINFO_RESOLVED, 0);
        return 0;
    }

    /** Gives the addresses away. Returns their address, or -errno. */
    long take(Id id) {
        Long info = found.remove(id);
        return info == null ? -Errno.ENOENT : info;
    }

    /** Frees the addresses of ids that are gone. */
    void sweep(Host host) {
        found.entrySet().removeIf(each -> {
            boolean isGone = !host.ids.containsKey(each.getKey().handle());
            if (isGone) {
                names.free(each.getValue());
            }
            return isGone;
        });
    }
}
