package org.kverbs.internal;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;

/** The counters of a port as the kernel shows them, one file each. */
public final class SysfsCounters {

    private SysfsCounters() {}

    /**
     * The numbers of {@code counters/*} and {@code hw_counters/*} by name, in the order of the alphabet; empty if the
     * directory is not there.
     *
     * @param port such as {@code /sys/class/infiniband/rxe0/ports/1}
     */
    public static Map<String, Long> read(Path port) {
        var counters = new TreeMap<String, Long>();
        add(port.resolve("counters"), counters);
        add(port.resolve("hw_counters"), counters);
        return Collections.unmodifiableMap(counters);
    }

    private static void add(Path directory, Map<String, Long> to) {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
            for (Path file : files) {
                String name = file.getFileName().toString();
                if (!name.equals("lifespan")) { // how long the kernel keeps a value that it read, which can be set
                    put(name, file, to);
                }
            }
        } catch (IOException e) {
            // The driver has none of this kind.
        }
    }

    private static void put(String name, Path file, Map<String, Long> to) {
        try {
            to.put(name, Long.parseUnsignedLong(Files.readString(file).strip()));
        } catch (IOException | NumberFormatException e) {
            // The device can't give this one now: "N/A (no PMA)" of a virtual function.
        }
    }
}
