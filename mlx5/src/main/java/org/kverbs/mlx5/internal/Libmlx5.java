package org.kverbs.mlx5.internal;

import java.lang.foreign.MemorySegment;
import org.kverbs.Context;
import org.kverbs.LibraryUnavailableException;
import org.kverbs.UnsupportedVerbException;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvContext;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.DriverLibrary;

/**
 * The exported functions of libmlx5.so.1 that kverbs calls, one method each. Pointers are {@code long}; a negative
 * result is {@code -errno}. Safe for any thread.
 */
public final class Libmlx5 {

    /** The system property that names another file or path of the library. */
    public static final String FILE_PROPERTY = "kverbs.libmlx5";

    private static final String IS_SUPPORTED = "mlx5dv_is_supported";
    private static final String OTHER_DRIVER =
            "The driver mlx5 has it, for ConnectX-4 and newer and for BlueField, and this device has another driver.";

    private final DriverLibrary library;

    private Libmlx5(DriverLibrary library) {
        this.library = library;
    }

    /**
     * Loads the library for a device of mlx5.
     *
     * @throws UnsupportedVerbException if the device has another driver, or if the library is not there
     */
    public static Libmlx5 of(Context context) {
        String file = System.getProperty(FILE_PROPERTY, "libmlx5.so.1");
        DriverLibrary loaded = context.driverLibrary(file, IS_SUPPORTED, OTHER_DRIVER);
        String device = context.device().name();
        try {
            if (context.callNative(pointer -> isSupported(loaded, pointer))) {
                return new Libmlx5(loaded);
            }
        } catch (LibraryUnavailableException e) { // a release without the call
            var missing = new UnsupportedVerbException(
                    device, IS_SUPPORTED, Errno.ENOSYS, String.valueOf(e.getMessage()));
            missing.initCause(e);
            throw missing;
        }
        throw new UnsupportedVerbException(device, IS_SUPPORTED, Errno.EOPNOTSUPP, OTHER_DRIVER);
    }

    // man 3 mlx5dv_is_supported: true or false
    private static boolean isSupported(DriverLibrary library, MemorySegment context) {
        return library.number(IS_SUPPORTED, 22, Memory.getLong(context.address() + IbvContext.DEVICE)) != 0;
    }

    // man 3 mlx5dv_query_device: 0 or errno
    public int queryDevice(long context, MemorySegment attributes) {
        return library.status("mlx5dv_query_device", 13, context, attributes.address());
    }

    // man 3 mlx5dv_create_cq: pointer or NULL with errno
    public long createCq(long context, MemorySegment attributes, MemorySegment ofDriver) {
        return library.pointer("mlx5dv_create_cq", 14, context, attributes.address(), ofDriver.address());
    }

    // man 3 mlx5dv_create_qp: pointer or NULL with errno
    public long createQp(long context, MemorySegment attributes, MemorySegment ofDriver) {
        return library.pointer("mlx5dv_create_qp", 16, context, attributes.address(), ofDriver.address());
    }

    /** Returns whether this release has {@link #qpExFromIbvQpEx}. */
    public boolean hasExtendedPosts() {
        return library.has("mlx5dv_qp_ex_from_ibv_qp_ex");
    }

    // man 3 mlx5dv_wr_post: the pointer; a struct ibv_qp_ex begins with the struct ibv_qp
    public long qpExFromIbvQpEx(long qp) {
        return library.pointer("mlx5dv_qp_ex_from_ibv_qp_ex", 24, qp);
    }
}
