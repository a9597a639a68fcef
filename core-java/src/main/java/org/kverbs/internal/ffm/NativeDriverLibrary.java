package org.kverbs.internal.ffm;

import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.kverbs.LibraryUnavailableException;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.ffm.NativeLibrary.Function;
import org.kverbs.spi.DriverLibrary;

/**
 * The library of a driver. Only calls that make, query and change objects go through it, so that arrays are no loss.
 */
final class NativeDriverLibrary implements DriverLibrary {

    private static final int MOST_ARGUMENTS = 6;

    private final String file;
    private final NativeLibrary library;
    private final Map<String, Function> functions = new ConcurrentHashMap<>();

    /**
     * Loads a library.
     *
     * @throws LibraryUnavailableException if it cannot be loaded
     */
    NativeDriverLibrary(String file) {
        this.file = file;
        this.library = NativeLibrary.load(file);
    }

    private Function function(String symbol, int release) {
        return functions.computeIfAbsent(symbol, name -> library.function(name, release));
    }

    @Override
    public String file() {
        return file;
    }

    @Override
    public boolean has(String function) {
        return library.function(function).isPresent();
    }

    @Override
    public int status(String function, int release, long... arguments) {
        Function called = function(function, release);
        if (!called.isPresent()) {
            return -Errno.ENOSYS;
        }
        long[] a = six(arguments);
        return Downcalls.status(Downcalls.withErrno(called.address(), a[0], a[1], a[2], a[3], a[4], a[5]));
    }

    @Override
    public long pointer(String function, int release, long... arguments) {
        Function called = function(function, release);
        if (!called.isPresent()) {
            return -Errno.ENOSYS;
        }
        long[] a = six(arguments);
        long made = Downcalls.pointer(called.address(), a[0], a[1], a[2], a[3], a[4], a[5]);
        return made == 0 ? -Errno.EINVAL : made; // mlx5 returns NULL without errno for attributes that it does not know
    }

    @Override
    public int number(String function, int release, long... arguments) {
        long[] a = six(arguments);
        return (int) Downcalls.call(function(function, release).address(), a[0], a[1], a[2], a[3], a[4], a[5]) & 0xff;
    }

    /** A function with fewer parameters does not read the other registers. */
    private static long[] six(long... arguments) {
        return Arrays.copyOf(arguments, MOST_ARGUMENTS);
    }
}
