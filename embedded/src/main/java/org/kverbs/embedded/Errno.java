package org.kverbs.embedded;

/** Error numbers that drivers and the kernel refuse calls with, for a {@link Failure}; the numbers are Linux'. */
public enum Errno {
    /** Not permitted: a capability or a limit of the process. */
    EPERM(1),
    /** The device broke, or was reset. */
    EIO(5),
    /** For now; a limit of the control group. */
    EAGAIN(11),
    /** Out of memory, of objects, or of slots in a queue. */
    ENOMEM(12),
    /** Access denied. */
    EACCES(13),
    /** Memory that is not mapped. */
    EFAULT(14),
    /** Something else still needs the object. */
    EBUSY(16),
    /** The device went away. */
    ENODEV(19),
    /** An argument is wrong. */
    EINVAL(22),
    /** No file descriptor is left. */
    EMFILE(24),
    /** No space is left in a table. */
    ENOSPC(28),
    /** The driver lacks the call. */
    ENOSYS(38),
    /** The device lacks the operation. */
    EOPNOTSUPP(95),
    /** The address is taken. */
    EADDRINUSE(98),
    /** The network is down. */
    ENETDOWN(100),
    /** It took too long. */
    ETIMEDOUT(110);

    private final int code;

    Errno(int code) {
        this.code = code;
    }

    /** The number, positive. */
    public int code() {
        return code;
    }
}
