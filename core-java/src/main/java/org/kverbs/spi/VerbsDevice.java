package org.kverbs.spi;

import java.util.Map;
import org.kverbs.internal.abi.Errno;

/** A device that can be opened ({@code struct ibv_device}). Immutable; safe for any thread. */
public interface VerbsDevice {

    /** Returns the name, such as {@code rxe0} ({@code ibv_get_device_name}). */
    String name();

    /**
     * Returns the node GUID as a number in host order, or 0 if it is unknown ({@code ibv_get_device_guid} has network
     * order).
     */
    long guid();

    /** Returns the kind of node, an {@code enum ibv_node_type}. */
    int nodeType();

    /** Returns the transport, an {@code enum ibv_transport_type}. */
    int transportType();

    /**
     * Returns the counters of a port by name; empty if the device has no such port or no counters. The names are those
     * of the files {@code counters/*} and {@code hw_counters/*} of the port under {@code /sys/class/infiniband}.
     */
    default Map<String, Long> counters(int port) {
        return Map.of();
    }

    /** Returns the kernel's number of the device, or -1 if it has none ({@code ibv_get_device_index}). */
    default int index() {
        return -1;
    }

    /** Opens the device ({@code ibv_open_device}). Each call makes a new context. */
    VerbsOpenResult open();

    /**
     * Makes a context from the descriptor of another one of this device ({@code ibv_import_device}). The new context
     * owns the descriptor and closes it.
     *
     * @param descriptor a duplicate of {@link ImportVerbs#commandDescriptor}
     */
    default VerbsOpenResult importContext(int descriptor) {
        return VerbsOpenResult.refused(Errno.EOPNOTSUPP);
    }
}
