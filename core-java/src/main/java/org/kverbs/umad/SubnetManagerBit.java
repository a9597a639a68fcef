package org.kverbs.umad;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import org.kverbs.LibraryUnavailableException;
import org.kverbs.RdmaSystemException;
import org.kverbs.Resource;
import org.kverbs.internal.ErrorAdvice;
import org.kverbs.internal.Lifetime;
import org.kverbs.internal.Lifetime.Ending;
import org.kverbs.internal.Lifetime.Turn;
import org.kverbs.internal.abi.Errno;
import org.kverbs.spi.ManagementPorts;

/**
 * Says that a subnet manager runs at a port: while this is open, the port has the capability IsSM, which the other
 * ports of the fabric read from its PortInfo (IBA volume 1, section 14.2.5.6). It is the kernel's file {@code
 * /dev/infiniband/issmN}; the bit goes away with the process, too.
 *
 * <p>The file's number is in {@code /sys/class/infiniband_mad}. The system properties {@code kverbs.sysfs} and {@code
 * kverbs.dev} name other places of {@code /sys} and {@code /dev}.
 *
 * <p>One program at a time has the bit of a port. Safe for any thread.
 */
public final class SubnetManagerBit extends Resource {

    private final ManagementPorts umad;
    private final Path file;
    private final int descriptor;

    private SubnetManagerBit(ManagementPorts umad, Path file, int descriptor) {
        super(new Lifetime(Turn.USERS));
        this.umad = umad;
        this.file = file;
        this.descriptor = descriptor;
        Lifetime.DOOR.of(this).begin(this, Ending.of(this::describe, this::destroy));
    }

    /**
     * Sets the bit of a port.
     *
     * @param device the name of the device: {@code mlx5_0}
     * @param port the number of the port, from 1
     * @throws LibraryUnavailableException if libibumad is missing; the message names the package to install
     * @throws RdmaSystemException if there is no such port, this user may not, or another program has the bit (EAGAIN);
     *     the message says what to do
     */
    public static SubnetManagerBit open(String device, int port) {
        Objects.requireNonNull(device, "device");
        ManagementPorts umad = UmadPort.ports();
        String operation = "umad_get_issm_path(" + device + "/" + port + ")";
        Path file = find(device, port, operation);
        return Lifetime.create(
                () -> umad.openFile(file.toString()),
                errno -> failure("open(" + file + ")", errno),
                descriptor -> new SubnetManagerBit(umad, file, (int) descriptor));
    }

    private static Path find(String device, int port, String operation) {
        Path devices = Path.of(System.getProperty("kverbs.sysfs", "/sys"), "class", "infiniband_mad");
        try (DirectoryStream<Path> files = Files.newDirectoryStream(devices, "issm*")) {
            for (Path each : files) {
                if (device.equals(text(each, "ibdev")) && Integer.toString(port).equals(text(each, "port"))) {
                    return Path.of(System.getProperty("kverbs.dev", "/dev"), "infiniband")
                            .resolve(each.getFileName());
                }
            }
        } catch (IOException e) {
            // The module is not there, which the exception below says.
        }
        throw failure(operation, Errno.ENODEV);
    }

    private static String text(Path folder, String file) {
        try {
            return Files.readString(folder.resolve(file)).strip();
        } catch (IOException e) {
            return ""; // the device went away
        }
    }

    private static RdmaSystemException failure(String operation, int errno) {
        int positive = Math.abs(errno);
        return new RdmaSystemException(
                operation, positive, ErrorAdvice.ofCall("umad_get_issm_path", positive));
    }

    private void destroy() {
        umad.closeFile(descriptor);
    }

    @Override
    public String describe() {
        return "subnet manager's bit " + file;
    }
}
