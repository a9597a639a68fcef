package org.kverbs;

import java.io.Serial;
import java.util.List;
import org.kverbs.internal.Providers;

/**
 * Reports that no RDMA device matches a request. The message lists the devices of this machine; if there are none, it
 * says how to get one.
 */
public class DeviceNotFoundException extends RdmaException {
    @Serial private static final long serialVersionUID = 1L;

    private final String asked;
    private final String[] available;

    /**
     * Describes a search that found no device.
     *
     * @param asked the device that was asked for, as a phrase: {@code device 'mlx5_9'}, {@code any device}
     * @param available the names of the devices that this machine has
     */
    public DeviceNotFoundException(String asked, List<String> available) {
        super(describe(asked, available));
        this.asked = asked;
        this.available = available.toArray(String[]::new);
    }

    /** Returns the device that was asked for, as a phrase: {@code device 'mlx5_9'}. */
    public String asked() {
        return asked;
    }

    /** Returns the names of the devices that this machine has, an unmodifiable list that can be empty. */
    public List<String> available() {
        return List.of(available);
    }

    private static String describe(String asked, List<String> available) {
        String missing = "no RDMA device found (asked for: " + asked + "). ";
        if (!available.isEmpty()) {
            return missing + "This machine has: " + String.join(", ", available) + "."
                    + (asked.contains("embedded") ? Providers.adviceOnEmbedded() : "");
        }
        return missing + "This machine has none: `rdma link` and /sys/class/infiniband should list it. With an RDMA "
                + "adapter, load its kernel driver (mlx5_ib for ConnectX-4 and newer, irdma for Intel E810). Without "
                + "one, make a Soft-RoCE device as root, on your network device for eth0:"
                + " `modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth0`. In a container, pass "
                + "/dev/infiniband through. Or use the project's lab, a virtual machine with such devices: `./kverbs "
                + "lab 'COMMAND'`."
                + Providers.adviceOnEmbedded();
    }
}
