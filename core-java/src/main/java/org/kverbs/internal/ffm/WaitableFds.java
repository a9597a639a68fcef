package org.kverbs.internal.ffm;

import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntSupplier;
import org.kverbs.internal.abi.Errno;

/**
 * Waits on the event descriptors of libibverbs in a way that can always be ended. Each descriptor is made non-blocking
 * and gets an event descriptor that wakes one waiter, or all for good. This class only waits on the descriptors; the
 * calls of the library read them.
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

    /** Adds a descriptor under the address of its owner. Returns 0 or -errno. */
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
     * Destroys an owner and its event descriptor. The owner is removed from the map first, since a new owner can get
     * the same address at once.
     *
     * @param destroy destroys the owner and returns 0 or -errno
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

    /** Ends the current wait, or else the next one. */
    void interrupt(long owner) {
        Waitable waitable = byOwner.get(owner);
        if (waitable != null) {
            Libc.signal(waitable.wakeFd);
        }
    }

    /**
     * Waits until {@code take} gets an event.
     *
     * @param take a non-blocking read that returns 0 for an event, -EAGAIN for none, or another -errno
     * @return 1 for an event, 0 if the time ran out or the owner was woken, or -errno
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
            // Another waiter can have taken the event that woke this one, and a signal can interrupt the read.
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
     * Clears the interrupt, so that the next wait waits again. If all waits were ended meanwhile, signals again, since
     * the drain can have removed the signal for the other waiters.
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
