package org.kverbs;

import java.io.Serial;
import java.util.List;
import org.kverbs.internal.Providers;

/** No RDMA device is as asked. Says which devices there are, and on a machine without any, how to get one. */
public class DeviceNotFoundException extends RdmaException {
    @Serial private static final long serialVersionUID = 1L;

    private final String asked;
    private final String[] available;

    /**
     * Describes a search without result.
     *
     * @param asked what was looked for, as a phrase: {@code name mlx5_9}, {@code GUID 0002:c903:0010:1234},
     *     {@code any device}
     * @param available the names of the devices that this machine has
     */
    public DeviceNotFoundException(String asked, List<String> available) {
        super(describe(asked, available));
        this.asked = asked;
        this.available = available.toArray(String[]::new);
    }

    /** What was looked for, as a phrase: {@code name mlx5_9}. */
    public String asked() {
        return asked;
    }

    /** The names of the devices that this machine has; unmodifiable, maybe empty. */
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
