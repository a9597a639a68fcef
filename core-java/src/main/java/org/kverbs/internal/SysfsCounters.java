package org.kverbs.internal;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;

/** Reads the counters of a port from the kernel's files, one file each. */
public final class SysfsCounters {

    private SysfsCounters() {}

    /**
     * Returns the numbers of {@code counters/*} and {@code hw_counters/*} by name, in alphabetical order; empty if the
     * directories do not exist.
     *
     * @param port the directory of the port, such as {@code /sys/class/infiniband/rxe0/ports/1}
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
                if (!name.equals("lifespan")) { // a setting: how long the kernel caches a value
                    put(name, file, to);
                }
            }
        } catch (IOException e) {
            // The driver has no counters of this kind.
        }
    }

    private static void put(String name, Path file, Map<String, Long> to) {
        try {
            to.put(name, Long.parseUnsignedLong(Files.readString(file).strip()));
        } catch (IOException | NumberFormatException e) {
            // The device cannot give this counter now: a virtual function has "N/A (no PMA)".
        }
    }
}
