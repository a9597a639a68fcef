package org.kverbs.spi;

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

    /** Opens the device ({@code ibv_open_device}). Each call gives a context of its own. */
    VerbsOpenResult open();
}
