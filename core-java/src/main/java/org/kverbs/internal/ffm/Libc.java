package org.kverbs.internal.ffm;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.OpenFlags;

/** The functions of the C library for file descriptors. */
final class Libc {

    private static final MemorySegment POLL = find("poll");
    private static final MemorySegment EVENTFD = find("eventfd");
    private static final MemorySegment READ = find("read");
    private static final MemorySegment WRITE = find("write");
    private static final MemorySegment CLOSE = find("close");
    private static final MemorySegment OPEN = find("open");
    private static final MemorySegment FCNTL = find("fcntl");

    private static final int F_DUPFD_CLOEXEC = 1030;
    private static final int F_GETFL = 3;
    private static final int F_SETFL = 4;
    private static final int O_NONBLOCK = 0x800;
    private static final int O_CLOEXEC = 0x80000;
    private static final int OWNER_ONLY = 0600;
    private static final int EFD_CLOEXEC = 0x80000;
    private static final int EFD_NONBLOCK = 0x800;
    private static final short POLLIN = 1;
    private static final int POLLFD_SIZE = 8;
    /** The result of {@link #awaitReadable} if it was woken. */
    static final int WOKEN = 2;
    /**
     * The interval at which a wait checks whether its thread was interrupted, since Thread.interrupt cannot wake
     * poll(2).
     */
    private static final int SLICE_MILLIS = 100;

    private Libc() {}

    private static MemorySegment find(String symbol) {
        return Linker.nativeLinker().defaultLookup().findOrThrow(symbol);
    }

    /**
     * Makes an event descriptor ({@code man 2 eventfd}). It is readable from {@link #signal} until {@link #drain}.
     * Returns it or -errno.
     */
    static int eventFd() {
        return Downcalls.number(Downcalls.withErrno(EVENTFD, 0, EFD_CLOEXEC | EFD_NONBLOCK));
    }

    /** Makes an event descriptor readable. */
    static void signal(int eventFd) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment one = arena.allocateFrom(JAVA_LONG, 1L);
            Downcalls.call(WRITE, eventFd, one.address(), Long.BYTES);
        }
    }

    /** Makes an event descriptor unreadable. Does nothing if it is already. */
    static void drain(int eventFd) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment count = arena.allocate(JAVA_LONG);
            Downcalls.call(READ, eventFd, count.address(), Long.BYTES);
        }
    }

    /** Opens a file to read, without waiting ({@code man 2 open}). Returns a descriptor or -errno. */
    static int openToRead(String file) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment path = arena.allocateFrom(file);
            return Downcalls.number(Downcalls.withErrno(OPEN, path.address(), O_NONBLOCK | O_CLOEXEC));
        }
    }

    /** Opens a file to read, and makes it if it does not exist, for its owner alone. Returns a descriptor or -errno. */
    static int openOrCreate(String file) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment path = arena.allocateFrom(file);
            int flags = OpenFlags.O_CREAT | O_NONBLOCK | O_CLOEXEC;
            return Downcalls.number(Downcalls.variadicWithErrno(OPEN, path.address(), flags, OWNER_ONLY));
        }
    }

    /** Duplicates a descriptor ({@code man 2 fcntl}: F_DUPFD_CLOEXEC). Returns the duplicate or -errno. */
    static int duplicate(int fd) {
        return Downcalls.number(Downcalls.variadicWithErrno(FCNTL, fd, F_DUPFD_CLOEXEC, 0));
    }

    /** Closes a descriptor ({@code man 2 close}). */
    static void close(int fd) {
        Downcalls.call(CLOSE, fd);
    }

    /**
     * Makes a descriptor non-blocking ({@code man 2 fcntl}): a read without data returns EAGAIN. Returns 0 or -errno.
     */
    static int setNonBlocking(int fd) {
        int flags = Downcalls.number(Downcalls.variadicWithErrno(FCNTL, fd, F_GETFL, 0));
        return flags < 0
                ? flags
                : Downcalls.number(Downcalls.variadicWithErrno(FCNTL, fd, F_SETFL, flags | O_NONBLOCK));
    }

    /**
     * Waits until {@code fd} or {@code wakeFd} is readable ({@code man 2 poll}).
     *
     * @param deadlineNanos the end of the wait on the clock of {@link System#nanoTime}; ignored if {@code forever}
     * @return {@link #WOKEN} if {@code wakeFd} is readable, else 1 if {@code fd} is, 0 if the time ran out, or -errno;
     *     -EINTR only if this thread was interrupted
     */
    static int awaitReadable(int fd, int wakeFd, boolean forever, long deadlineNanos) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment fds = arena.allocate(2 * POLLFD_SIZE, 4);
            fds.set(JAVA_INT, 0, fd);
            fds.set(JAVA_SHORT, 4, POLLIN);
            fds.set(JAVA_INT, POLLFD_SIZE, wakeFd);
            fds.set(JAVA_SHORT, POLLFD_SIZE + 4, POLLIN);
            while (true) {
                int millis = SLICE_MILLIS;
                if (!forever) {
                    long left = deadlineNanos - System.nanoTime();
                    millis = left <= 0 ? 0 : (int) Math.min(SLICE_MILLIS, (left + 999_999) / 1_000_000);
                }
                int ready = Downcalls.number(Downcalls.withErrno(POLL, fds.address(), 2, millis));
                if (ready < 0 && ready != -Errno.EINTR) {
                    return ready;
                }
                if (ready > 0) {
                    return fds.get(JAVA_SHORT, POLLFD_SIZE + 6) != 0 ? WOKEN : 1;
                }
                if (!forever && deadlineNanos - System.nanoTime() <= 0) {
                    return 0;
                }
                if (Thread.currentThread().isInterrupted()) {
                    return -Errno.EINTR;
                }
            }
        }
    }
}
