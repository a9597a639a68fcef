package org.kverbs.spi;

/**
 * The library of a device's driver, such as {@code libmlx5.so.1}, for calls beyond libibverbs. Its functions are looked
 * up at their first call. Integers and pointers are {@code long}; a function takes at most six of them. Safe for any
 * thread.
 */
public interface DriverLibrary {

    /** Returns the file name or the path that the library was loaded by. */
    String file();

    /** Returns whether the loaded library has a function. */
    boolean has(String function);

    /**
     * Calls a function that returns 0 or errno, or -1 with errno.
     *
     * @param release the first release of rdma-core that has the function
     * @return 0 or -errno; -ENOSYS if the library lacks the function
     */
    int status(String function, int release, long... arguments);

    /** Calls a function that returns a pointer, or NULL with errno; see {@link #status}. */
    long pointer(String function, int release, long... arguments);

    /**
     * Calls a function that returns a number or a truth value of up to 8 bits and does not fail.
     *
     * @throws org.kverbs.LibraryUnavailableException if the library lacks the function; the message names the release
     */
    int number(String function, int release, long... arguments);
}
