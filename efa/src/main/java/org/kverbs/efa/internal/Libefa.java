package org.kverbs.efa.internal;

import java.lang.foreign.MemorySegment;
import org.kverbs.Context;
import org.kverbs.UnsupportedVerbException;
import org.kverbs.internal.abi.Errno;
import org.kverbs.spi.DriverLibrary;

/**
 * The exported functions of libefa.so.1 that kverbs calls, one method each. Pointers are {@code long}; a negative
 * result is {@code -errno}. Safe for any thread.
 */
public final class Libefa {

    /** The system property that names another file or path of the library. */
    public static final String FILE_PROPERTY = "kverbs.libefa";

    /** The call that tells whether a device is of efa. */
    public static final String QUERY_DEVICE = "efadv_query_device";

    private static final String OTHER_DRIVER =
            "The driver efa has it since rdma-core 26, for the Elastic Fabric Adapter of Amazon EC2, and this device"
                    + " has another driver or an older library.";

    private final DriverLibrary library;

    private Libefa(DriverLibrary library) {
        this.library = library;
    }

    /**
     * Loads the library.
     *
     * @throws UnsupportedVerbException if the device is not one of libibverbs, or if the library is not there
     */
    public static Libefa of(Context context) {
        String file = System.getProperty(FILE_PROPERTY, "libefa.so.1");
        return new Libefa(context.driverLibrary(file, QUERY_DEVICE, OTHER_DRIVER));
    }

    /** Makes the exception for a device of another driver. */
    public static UnsupportedVerbException otherDriver(String device, String operation) {
        return new UnsupportedVerbException(device, operation, Errno.EOPNOTSUPP, OTHER_DRIVER);
    }

    // man 3 efadv_query_device: 0 or errno; EOPNOTSUPP for a device of another driver
    public int queryDevice(long context, MemorySegment attributes, int size) {
        return library.status(QUERY_DEVICE, 26, context, attributes.address(), size);
    }

    // man 3 efadv_query_ah: 0 or errno
    public int queryAh(long ah, MemorySegment attributes) {
        return library.status("efadv_query_ah", 26, ah, attributes.address(), attributes.byteSize());
    }

    // man 3 efadv_create_qp_ex: pointer or NULL with errno
    public long createQpEx(long context, MemorySegment attributes, MemorySegment ofDriver) {
        return library.pointer(
                "efadv_create_qp_ex", 26, context, attributes.address(), ofDriver.address(), ofDriver.byteSize());
    }

    // man 3 efadv_create_cq: pointer or NULL with errno
    public long createCq(long context, MemorySegment attributes, MemorySegment ofDriver) {
        return library.pointer(
                "efadv_create_cq", 43, context, attributes.address(), ofDriver.address(), ofDriver.byteSize());
    }

    // man 3 efadv_create_cq: the pointer to the functions that read a completion of the queue
    public long cqFromIbvCqEx(long cq) {
        return library.pointer("efadv_cq_from_ibv_cq_ex", 43, cq);
    }
}
