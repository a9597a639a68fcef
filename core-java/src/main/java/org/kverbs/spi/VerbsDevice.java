package org.kverbs.spi;

import java.util.Map;

/** A device that can be opened ({@code struct ibv_device}). Immutable; safe for any thread. */
public interface VerbsDevice {

    /** Name such as {@code rxe0} ({@code ibv_get_device_name}). */
    String name();

    /** Node GUID as a number in host order, 0 if unknown ({@code ibv_get_device_guid} gives it in network order). */
    long guid();

    /** {@code enum ibv_node_type}. */
    int nodeType();

    /** {@code enum ibv_transport_type}. */
    int transportType();

    /**
     * What the device has counted at a port since some moment, by name; empty if it has no such port or doesn't say.
     * The names are those of the files {@code counters/*} and {@code hw_counters/*} of the port under {@code
     * /sys/class/infiniband}.
     */
    default Map<String, Long> counters(int port) {
        return Map.of();
    }

    /** Opens the device ({@code ibv_open_device}). Each call gives a context of its own. */
    VerbsOpenResult open();
}
