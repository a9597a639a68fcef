package org.kverbs.internal.ffm;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.File;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.kverbs.LibraryUnavailableException;
import org.kverbs.RdmaSystemException;
import org.kverbs.internal.ErrorAdvice;
import org.kverbs.internal.ProcessFence;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvDevice;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.ConnectionManager;
import org.kverbs.spi.DriverLibrary;
import org.kverbs.spi.ManagementPorts;
import org.kverbs.spi.VerbsDevice;
import org.kverbs.spi.VerbsProvider;

/**
 * The provider of the devices of libibverbs. It loads the library at the first listing, so a program that uses only
 * another provider runs without the library.
 */
public final class NativeProvider implements VerbsProvider {

    private static @Nullable Libibverbs library;
    /**
     * The devices of all listings. They are never dropped, since libibverbs frees a device that is in no list any more.
     */
    private final List<NativeDevice> known = new ArrayList<>();
    private final Map<String, DriverLibrary> drivers = new ConcurrentHashMap<>();
    private @Nullable NativeConnectionManager connections;
    private @Nullable Libibumad management;

    /** Makes the provider; {@link java.util.ServiceLoader} calls this. */
    public NativeProvider() {
        ProcessFence.offer(Membarrier::fence);
    }

    @Override
    public String name() {
        return "native";
    }

    @Override
    public boolean isNative() {
        return true;
    }

    @Override
    public synchronized List<VerbsDevice> devices() {
        Libibverbs verbs = library();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment count = arena.allocate(JAVA_INT);
            long list = verbs.getDeviceList(count);
            if (list == -Errno.ENOSYS) {
                return List.of(); // the kernel has no RDMA support, so there is no device; that is no error
            }
            if (list < 0) {
                String call = "ibv_get_device_list()";
                throw new RdmaSystemException(call, (int) -list, ErrorAdvice.on(call, (int) -list));
            }
            int devices = count.get(JAVA_INT, 0);
            if (devices == 0) {
                verbs.freeDeviceList(list);
                List<String> undriven = devicesOfTheKernel();
                if (!undriven.isEmpty()) {
                    throw LibraryUnavailableException.providerMissing(undriven);
                }
                return List.of();
            }
            MemorySegment pointers = Memory.at(list, devices * ADDRESS.byteSize());
            var found = new ArrayList<VerbsDevice>(devices);
            boolean isNew = false;
            for (int i = 0; i < devices; i++) {
                long device = pointers.getAtIndex(JAVA_LONG, i);
                NativeDevice seen = knownDevice(device);
                if (seen == null) {
                    seen = describe(verbs, device);
                    known.add(seen);
                    isNew = true;
                }
                found.add(seen);
            }
            // libibverbs counts the lists that hold a device and returns the same pointer in every list. Keeping one
            // list for each new device keeps the pointer valid without leaking a list at each call.
            if (!isNew) {
                verbs.freeDeviceList(list);
            }
            return List.copyOf(found);
        }
    }

    /** Loads librdmacm at the first call, so that a program without connections runs without it. */
    @Override
    public synchronized ManagementPorts managementPorts() {
        Libibumad loaded = management;
        if (loaded == null) {
            loaded = new Libibumad();
            management = loaded;
        }
        return loaded;
    }

    @Override
    public synchronized ConnectionManager connectionManager() {
        NativeConnectionManager made = connections;
        if (made == null) {
            requireNativeAccess(Librdmacm.file());
            made = new NativeConnectionManager();
            connections = made;
        }
        return made;
    }

    @Override
    public DriverLibrary driverLibrary(String file) {
        requireNativeAccess(file);
        return drivers.computeIfAbsent(file, NativeDriverLibrary::new);
    }

    private static void requireNativeAccess(String library) {
        try {
            Memory.at(0, 0); // a restricted method: the cheapest test whether native access is allowed
        } catch (IllegalCallerException e) {
            throw LibraryUnavailableException.nativeAccessDenied(library, e);
        }
    }

    /** {@code ibv_is_fork_initialized}. */
    @Override
    public int forkStatus() {
        return library().isForkInitialized();
    }

    /** {@code ibv_fork_init}. */
    @Override
    public int protectFork() {
        return library().forkInit();
    }

    private static synchronized Libibverbs library() {
        Libibverbs loaded = library;
        if (loaded == null) {
            requireNativeAccess(Libibverbs.file());
            loaded = new Libibverbs();
            library = loaded;
        }
        return loaded;
    }

    /** Returns the devices of the kernel. libibverbs lists fewer if a user-space driver is not installed. */
    private static List<String> devicesOfTheKernel() {
        String[] names = new File("/sys/class/infiniband").list();
        return names == null ? List.of() : List.of(names);
    }

    private @Nullable NativeDevice knownDevice(long address) {
        for (NativeDevice device : known) {
            if (device.address() == address) {
                return device;
            }
        }
        return null;
    }

    private static NativeDevice describe(Libibverbs verbs, long address) {
        MemorySegment device = Memory.at(address, IbvDevice.SIZE);
        String name = device.asSlice(IbvDevice.NAME).getString(0);
        return new NativeDevice(
                verbs,
                address,
                name,
                verbs.getDeviceGuid(address),
                device.get(JAVA_INT, IbvDevice.NODE_TYPE),
                device.get(JAVA_INT, IbvDevice.TRANSPORT_TYPE));
    }
}
