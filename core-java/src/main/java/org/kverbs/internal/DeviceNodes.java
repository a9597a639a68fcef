package org.kverbs.internal;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;

/**
 * Describes the files in {@code /dev/infiniband} through which a process reaches the kernel's RDMA devices, and their
 * permissions.
 */
public final class DeviceNodes {
    private DeviceNodes() {}

    /**
     * Returns one sentence with the permissions, owner and group of each {@code uverbsN} of this machine, or a sentence
     * that there is none.
     */
    public static String describe() {
        return describe(Path.of("/dev/infiniband"));
    }

    /** Returns the sentence for a folder. */
    static String describe(Path folder) {
        try (Stream<Path> files = Files.list(folder)) {
            List<String> nodes = files.filter(file -> file.getFileName().toString().startsWith("uverbs"))
                    .sorted()
                    .map(DeviceNodes::permissions)
                    .toList();
            return nodes.isEmpty() ? folder + " has no uverbs nodes." : folder + " has " + String.join(", ", nodes)
                    + ".";
        } catch (NoSuchFileException e) {
            return "There is no folder " + folder + ".";
        } catch (IOException e) {
            return folder + " cannot be read (" + e + ").";
        }
    }

    private static String permissions(Path node) {
        try {
            PosixFileAttributes attributes = Files.readAttributes(node, PosixFileAttributes.class);
            return node.getFileName() + " (" + PosixFilePermissions.toString(attributes.permissions()) + ", owner "
                    + attributes.owner().getName() + ", group " + attributes.group().getName() + ")";
        } catch (IOException e) {
            return node.getFileName() + " (" + e + ")";
        }
    }
}
