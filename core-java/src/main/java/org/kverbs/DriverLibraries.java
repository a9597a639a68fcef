package org.kverbs;

import org.kverbs.internal.Providers;
import org.kverbs.internal.abi.Errno;
import org.kverbs.spi.DriverLibrary;

/** Loads the libraries of drivers, for the modules that know the drivers. */
final class DriverLibraries {

    private DriverLibraries() {}

    /** See {@link Context#driverLibrary}. */
    static DriverLibrary load(Context context, String file, String verb, String otherDriver) {
        String device = context.device().name();
        DriverLibrary loaded;
        try {
            loaded = Providers.DOOR.of(context.device()).driverLibrary(file);
        } catch (LibraryUnavailableException e) {
            var missing = new UnsupportedVerbException(device, verb, Errno.ENOSYS, String.valueOf(e.getMessage()));
            missing.initCause(e);
            throw missing;
        }
        if (loaded == null) {
            throw new UnsupportedVerbException(device, verb, Errno.EOPNOTSUPP, otherDriver);
        }
        return loaded;
    }
}
