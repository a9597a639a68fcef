package org.kverbs.internal;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The limit on the memory that a process may pin (RLIMIT_MEMLOCK, getrlimit(2)), as Linux prints it.
 *
 * @param soft the limit in force: a number of bytes, or {@code unlimited}
 * @param hard the limit up to which the process may raise it: a number of bytes, or {@code unlimited}
 */
public record MemlockLimit(String soft, String hard) {
    private static final String LINE = "Max locked memory";

    /** Returns the limit of this process, or unknown if {@code /proc/self/limits} does not exist. */
    public static MemlockLimit current() {
        try {
            return parse(Files.readString(Path.of("/proc/self/limits")));
        } catch (IOException e) {
            return parse("");
        }
    }

    /** Reads the line {@code Max locked memory  SOFT  HARD  bytes} of a {@code /proc/PID/limits}. */
    public static MemlockLimit parse(String limits) {
        return limits.lines()
                .filter(line -> line.startsWith(LINE))
                .map(line -> line.substring(LINE.length()).strip().split("\\s+"))
                .map(fields -> new MemlockLimit(fields[0], fields[1]))
                .findFirst()
                .orElse(new MemlockLimit("unknown", "unknown"));
    }

    /** Returns whether the process may lock no memory at all. Then the kernel answers EPERM. */
    public boolean isZero() {
        return soft.equals("0");
    }

    /** Returns sentences for ENOMEM: the limit and how to raise it, or that the limit cannot be the reason. */
    public String advice() {
        if (soft.equals("unlimited")) {
            return "The limit on locked memory is unlimited, so the machine or the device is short of memory or of "
                    + "objects: ask for less, free what is not needed, or look at the device's limits (max_mr_size, "
                    + "max_mr, max_cq, max_qp).";
        }
        return "This process may lock memory up to a soft limit of " + bytes(soft) + " and a hard limit of "
                + bytes(hard)
                + " (RLIMIT_MEMLOCK, see /proc/self/limits; most devices spare a process with CAP_IPC_LOCK, such as "
                + "root). Raise it: `ulimit -l unlimited` in the shell that starts the program,"
                + " a memlock line in /etc/security/limits.conf, LimitMEMLOCK=infinity in a systemd unit,"
                + " `docker run --ulimit memlock=-1`. Otherwise ask for less.";
    }

    private static String bytes(String limit) {
        return Character.isDigit(limit.charAt(0)) ? limit + " bytes" : limit;
    }
}
