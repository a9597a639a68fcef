package org.kverbs.internal;

import static org.kverbs.internal.abi.Errno.*;

/** Says what to do about an errno of a function of libibumad. */
final class ManagementAdvice {
    private ManagementAdvice() {}

    /** Returns advice on a call that failed; empty if nothing is known. */
    static String call(String function, int errno) {
        return switch (function) {
            case "umad_init" -> "libibumad does not know the interface of this kernel: "
                    + "/sys/class/infiniband_mad/abi_version should say 5.";
            case "umad_open_port" -> open(errno);
            case "umad_get_issm_path" -> subnetManager(errno);
            case "umad_register", "umad_register_oui" -> register(errno);
            case "umad_send" -> errno == EINVAL
                    ? "Check that the agent is registered, that the address is one that the port can reach, and that a "
                            + "message of more than 256 bytes is of an agent that cuts long messages."
                    : "The kernel could not send it; `dmesg` can say more. A first datagram after a boot is refused at "
                            + "times: try again.";
            default -> errno == EIO || errno == ENODEV
                    ? "The device went away: it was unplugged, reset, or its driver unloaded. Open the port again."
                    : "";
        };
    }

    private static String open(int errno) {
        return switch (errno) {
            case EACCES, EPERM -> "This user may not open /dev/infiniband/umadN: try as root, or give the group of "
                    + "that file the right to.";
            case EMFILE, ENFILE -> "No file descriptor is left: raise the limit (`ulimit -n`).";
            default -> "See that the device has that port (`ibv_devinfo`), that the kernel's module is there "
                    + "(`modprobe ib_umad`), and that /dev/infiniband has its umadN, also in a container. iWARP has "
                    + "no management datagrams.";
        };
    }

    private static String subnetManager(int errno) {
        return switch (errno) {
            case EACCES, EPERM -> "This user may not open /dev/infiniband/issmN: try as root, or give the group of "
                    + "that file the right to.";
            case EAGAIN, EBUSY -> "Another program is the port's subnet manager, such as opensm: end it first.";
            case EOPNOTSUPP -> "The port has no subnet management: RoCE has none.";
            default -> "See that the device has that port (`ibv_devinfo`), that the kernel's module is there "
                    + "(`modprobe ib_umad`), and that /dev/infiniband has its issmN, also in a container. iWARP has "
                    + "none.";
        };
    }

    private static String register(int errno) {
        return switch (errno) {
            case EINVAL, EPERM, EBUSY, EEXIST -> "Check the class, its version and its methods; another agent may "
                    + "receive requests of one of them already, such as opensm's.";
            case EPROTONOSUPPORT -> "A RoCE port has no subnet management: classes 0x01 and 0x81 are InfiniBand's.";
            default -> "";
        };
    }
}
