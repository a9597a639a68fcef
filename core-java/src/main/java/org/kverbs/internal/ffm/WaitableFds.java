package org.kverbs.internal.ffm;

import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntSupplier;
import org.kverbs.internal.abi.Errno;

/**
 * Waiting on libibverbs' event descriptors in a way that can always be ended: the descriptor is made non-blocking, and
 * each has an event descriptor beside it that wakes one waiter, or all for good. Descriptors are only waited on, never
 * read: the library's own calls read them.
 */
final class WaitableFds {

    private static final class Waitable {
        final int fd;
        final int wakeFd;
        volatile boolean wokenForGood;

        Waitable(int fd, int wakeFd) {
            this.fd = fd;
            this.wakeFd = wakeFd;
        }
    }

    private final Map<Long, Waitable> byOwner = new ConcurrentHashMap<>();

    /** Takes a descriptor under its owner's address. Returns 0 or -errno. */
    int add(long owner, int fd) {
        int result = Libc.setNonBlocking(fd);
        if (result < 0) {
            return result;
        }
        int wakeFd = Libc.eventFd();
        if (wakeFd < 0) {
            return wakeFd;
        }
        byOwner.put(owner, new Waitable(fd, wakeFd));
        return 0;
    }

    /**
     * Destroys an owner, and its event descriptor with it. Taken out first: a new owner may get the address at once.
     *
     * @param destroy 0 or -errno
     */
    int remove(long owner, IntSupplier destroy) {
        Waitable waitable = Objects.requireNonNull(byOwner.remove(owner));
        int result = destroy.getAsInt();
        if (result == 0) {
            Libc.close(waitable.wakeFd);
        } else {
            byOwner.put(owner, waitable);
        }
        return result;
    }

    void wake(long owner) {
        Waitable waitable = byOwner.get(owner);
        if (waitable != null) {
            waitable.wokenForGood = true;
            Libc.signal(waitable.wakeFd);
        }
    }

    /** Ends the wait that is under way, or else the next one. */
    void interrupt(long owner) {
        Waitable waitable = byOwner.get(owner);
        if (waitable != null) {
            Libc.signal(waitable.wakeFd);
        }
    }

    /**
     * Waits until {@code take} gets an event.
     *
     * @param take a non-blocking read: 0, or -errno with -EAGAIN for nothing there
     * @return 1 if it got one, 0 if the time ran out or the owner was woken, or -errno
     */
    int await(long owner, long timeoutNanos, IntSupplier take) {
        Waitable waitable = byOwner.get(owner);
        if (waitable == null) {
            return -Errno.EBADF;
        }
        boolean forever = timeoutNanos < 0;
        long deadline = System.nanoTime() + Math.max(0, timeoutNanos);
        while (true) {
            int taken = take.getAsInt();
            if (taken == 0) {
                return 1;
            }
            // Another waiter may have taken the event that woke this one, and a signal may interrupt the read.
            if (taken != -Errno.EAGAIN && taken != -Errno.EINTR) {
                return taken;
            }
            int ready = Libc.awaitReadable(waitable.fd, waitable.wakeFd, forever, deadline);
            if (ready == Libc.WOKEN) {
                forgetInterrupt(waitable);
                return 0;
            }
            if (ready <= 0) {
                return ready;
            }
        }
    }

    /**
     * Makes the next wait wait again, unless waits are over: then what was read may have been what the others are to
     * see.
     */
    private static void forgetInterrupt(Waitable waitable) {
        if (!waitable.wokenForGood) {
            Libc.drain(waitable.wakeFd);
            if (waitable.wokenForGood) {
                Libc.signal(waitable.wakeFd);
            }
        }
    }
}
