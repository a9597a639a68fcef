package org.kverbs.embedded;

/**
 * Lists the error numbers with which drivers and the kernel refuse calls, for a {@link Failure}. The numbers are those
 * of Linux.
 */
public enum Errno {
    /** The process lacks a capability or exceeds a limit. */
    EPERM(1),
    /** The device broke, or was reset. */
    EIO(5),
    /** The resource is not available for now, as at a limit of the control group. */
    EAGAIN(11),
    /** No memory, object or queue slot is left. */
    ENOMEM(12),
    /** Access was denied. */
    EACCES(13),
    /** The memory is not mapped. */
    EFAULT(14),
    /** Another object still uses this one. */
    EBUSY(16),
    /** The device went away. */
    ENODEV(19),
    /** An argument is not valid. */
    EINVAL(22),
    /** No file descriptor is left. */
    EMFILE(24),
    /** No space is left in a table. */
    ENOSPC(28),
    /** The driver does not have this call. */
    ENOSYS(38),
    /** The device does not have this operation. */
    EOPNOTSUPP(95),
    /** The address is in use. */
    EADDRINUSE(98),
    /** The network is down. */
    ENETDOWN(100),
    /** The call took too long. */
    ETIMEDOUT(110);

    private final int code;

    Errno(int code) {
        this.code = code;
    }

    /** Returns the number, positive. */
    public int code() {
        return code;
    }
}
