package org.kverbs;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Predicate;
import org.kverbs.attributes.NodeType;
import org.kverbs.attributes.TransportType;
import org.kverbs.internal.Providers;
import org.kverbs.internal.values.Guids;
import org.kverbs.spi.VerbsContext;
import org.kverbs.spi.VerbsDevice;
import org.kverbs.spi.VerbsOpenResult;
import org.kverbs.spi.VerbsProvider;

/**
 * An RDMA device that is there and can be opened ({@code struct ibv_device}). Immutable; any thread may use it.
 *
 * <pre>{@code
 * try (Context context = Device.first().open()) {
 *     System.out.println(context.queryDevice());
 * }
 * }</pre>
 *
 * <p>Source: {@code man 3 ibv_get_device_list}, {@code ibv_open_device}.
 */
public final class Device {

    static {
        Providers.DOOR.open(device -> ((Device) device).provider);
    }

    private final VerbsProvider provider;
    private final VerbsDevice device;

    private Device(VerbsProvider provider, VerbsDevice device) {
        this.provider = provider;
        this.device = device;
    }

    /**
     * All devices there are now: those of the operating system first, in libibverbs' order, then other providers'.
     *
     * @throws LibraryUnavailableException if no provider works on this machine; says why and what to install
     */
    public static List<Device> list() {
        var devices = new ArrayList<Device>();
        RdmaException unavailable = null;
        for (VerbsProvider provider : Providers.nativeFirst()) {
            try {
                for (VerbsDevice device : provider.devices()) {
                    devices.add(new Device(provider, device));
                }
            } catch (LibraryUnavailableException e) {
                unavailable = e;
            }
        }
        if (devices.isEmpty() && unavailable != null) {
            throw unavailable;
        }
        return List.copyOf(devices);
    }

    /**
     * The first device of {@link #list}.
     *
     * @throws DeviceNotFoundException if there is none
     */
    public static Device first() {
        return find("any device", d -> true);
    }

    /**
     * The device of a name, such as {@code mlx5_0} or {@code rxe0}.
     *
     * @throws DeviceNotFoundException if there is none; names those there are
     */
    public static Device byName(String name) {
        Objects.requireNonNull(name, "name");
        return find("device '" + name + "'", d -> d.name().equals(name));
    }

    /**
     * The device with a node GUID, as a number in host order: {@code 0x506b4b0300c2d1a4L}.
     *
     * @throws DeviceNotFoundException if there is none; names those there are
     */
    public static Device byGuid(long guid) {
        return find("device with GUID " + Guids.format(guid), d -> d.guid() == guid);
    }

    /**
     * A device that a provider has beside those that it lists, such as one made for a test.
     *
     * @param provider whose {@link VerbsProvider#name} the device names
     */
    public static Device of(VerbsProvider provider, VerbsDevice device) {
        return new Device(Objects.requireNonNull(provider, "provider"), Objects.requireNonNull(device, "device"));
    }

    private static Device find(String asked, Predicate<Device> matches) {
        List<Device> devices = list();
        return devices.stream()
                .filter(matches)
                .findFirst()
                .orElseThrow(() -> new DeviceNotFoundException(
                        asked, devices.stream().map(Device::name).toList()));
    }

    /** Name ({@code ibv_get_device_name}). */
    public String name() {
        return device.name();
    }

    /** Node GUID as a number in host order ({@code ibv_get_device_guid}); 0 if unknown. */
    public long guid() {
        return device.guid();
    }

    /** What kind of node it is; {@link #rawNodeType} keeps an unknown one. */
    public NodeType nodeType() {
        return NodeType.of(device.nodeType());
    }

    /** {@code enum ibv_node_type}. */
    public int rawNodeType() {
        return device.nodeType();
    }

    /** How it talks to others; {@link #rawTransportType} keeps an unknown one. RoCE is {@link TransportType#IB}. */
    public TransportType transportType() {
        return TransportType.of(device.transportType());
    }

    /** {@code enum ibv_transport_type}. */
    public int rawTransportType() {
        return device.transportType();
    }

    /** Which provider it comes from: {@code native} for libibverbs. */
    public String provider() {
        return provider.name();
    }

    /** What it has counted at port 1: {@link #counters(int)}. */
    public Map<String, Long> counters() {
        return counters(1);
    }

    /**
     * What the device has counted at a port, by name: packets, bytes, retransmissions, RNR NAKs and so on. Of a device
     * of the operating system these are the files {@code counters/*} and {@code hw_counters/*} of the port under {@code
     * /sys/class/infiniband}, whose names and meaning are the driver's, and which count from when it was loaded. An
     * embedded device counts from when it was made, all contexts and queue pairs together, under the names that
     * Soft-RoCE has where it has one: {@code sent_pkts}, {@code rcvd_pkts}, {@code sent_bytes}, {@code rcvd_bytes} (of
     * payload), {@code retrans_pkts}, {@code duplicate_request}, {@code out_of_seq_request}, {@code send_rnr_err} and
     * {@code rcvd_rnr_err} (RNR NAKs that were sent and that came), {@code rcvd_seq_err}, {@code completer_retry_err},
     * {@code local_ack_timeout_err}, {@code retry_exceeded_err}, {@code retry_rnr_exceeded_err}, {@code
     * req_remote_access_errors}, {@code resp_remote_access_errors}, {@code out_of_buffer}, {@code qkey_viol_cntr},
     * {@code bad_pkey_cntr}, {@code port_xmit_discards}, {@code rx_icrc_encapsulated} (wrong ICRC), {@code
     * port_rcv_errors}, {@code cm_rx_req}, {@code cm_tx_rej} and {@code cm_rx_rej} (connection requests that came,
     * refusals that were sent and that came).
     *
     * @param port from 1 on
     * @return a copy; empty if there is no such port, or the device says nothing
     */
    public Map<String, Long> counters(int port) {
        return device.counters(port);
    }

    /**
     * Opens it. The caller owns the context and closes it; each call opens anew.
     *
     * @throws RdmaSystemException if the device refuses, such as ENOENT or EACCES where this user may not open its
     *     file under /dev/infiniband
     */
    public Context open() {
        VerbsOpenResult result = device.open();
        VerbsContext opened = result.context();
        if (opened == null) {
            throw SystemErrors.of("ibv_open_device(" + name() + ")", result.errno());
        }
        return new Context(this, opened);
    }

    /** Name and GUID: {@code rxe0 (b4ef:93ff:fe74:597e)}. */
    @Override
    public String toString() {
        return name() + " (" + Guids.format(guid()) + ")";
    }
}
