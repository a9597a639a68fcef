package org.kverbs.cm;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kverbs.RdmaSystemException;
import org.kverbs.UnsupportedVerbException;

/**
 * Finds the addresses of a host and a service, with an event of a {@link ConnectionId} as the answer ({@code
 * rdma_resolve_addrinfo}). {@link ConnectionEventChannel#addressInfo} finds the same without an event, in every release
 * of rdma-core.
 *
 * <p>Safe for any thread. Source: {@code man 3 rdma_resolve_addrinfo}, {@code rdma_query_addrinfo}.
 */
public final class AddressLookup {

    private final ConnectionId id;

    AddressLookup(ConnectionId id) {
        this.id = id;
    }

    /**
     * Finds addresses ({@code rdma_resolve_addrinfo}). ADDRINFO_RESOLVED follows, and {@link #query} returns them.
     * Librdmacm looks names up in the calling thread, so the call can wait for a name server.
     *
     * @param node as for {@link ConnectionEventChannel#addressInfo}
     * @param service as for {@link ConnectionEventChannel#addressInfo}
     * @throws RdmaSystemException ENOENT if the name does not exist; EBUSY before the former addresses are queried;
     *     EINVAL if the kernel does not know the command
     * @throws UnsupportedVerbException if librdmacm is older than rdma-core 60
     */
    public void resolve(@Nullable String node, @Nullable String service, AddressHints hints) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment host = AddressInfo.text(arena, node);
            MemorySegment port = AddressInfo.text(arena, service);
            MemorySegment wanted = hints.allocate(arena);
            id.optional(
                    "rdma_resolve_addrinfo(" + node + ", " + service + ")",
                    () -> id.manager().resolveAddressInfo(id.handle(), host, port, wanted));
        }
    }

    /**
     * Returns the addresses that were found, once ({@code rdma_query_addrinfo}).
     *
     * @return at least one address, the best first
     * @throws RdmaSystemException ENOENT if there are none
     * @throws UnsupportedVerbException if librdmacm is older than rdma-core 60
     */
    public List<AddressInfo> query() {
        id.lifetime.enter();
        try {
            long first = id.manager().queryAddressInfo(id.handle());
            if (first < 0) {
                throw Failures.optional(id, "rdma_query_addrinfo(" + id.describe() + ")", (int) first,
                        Failures.SINCE_60);
            }
            return AddressInfo.take(id.manager(), first);
        } finally {
            id.lifetime.exit();
        }
    }
}
