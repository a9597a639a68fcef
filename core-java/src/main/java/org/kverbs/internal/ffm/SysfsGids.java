package org.kverbs.internal.ffm;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvContext;
import org.kverbs.internal.abi.IbvDevice;
import org.kverbs.internal.abi.IbvDeviceAttr;
import org.kverbs.internal.abi.IbvGid;
import org.kverbs.internal.abi.IbvGidEntry;
import org.kverbs.internal.abi.IbvGidType;
import org.kverbs.internal.abi.IbvLinkLayer;
import org.kverbs.internal.abi.IbvPortAttr;
import org.kverbs.internal.abi.IbvTransportType;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.VerbsContext;

/**
 * Reads GIDs with their types and network interfaces for a libibverbs older than rdma-core 32, which has no call for
 * them. The GIDs come from {@code ibv_query_gid}, the rest from the device's folder in sysfs: {@code
 * ports/PORT/gid_attrs/types/INDEX} holds "RoCE v2" or "IB/RoCE v1", and {@code ndevs/INDEX} the name of the interface.
 * A kernel before 4.5 has neither file and only RoCE v1.
 */
final class SysfsGids {

    private static final String ROCE_V2 = "RoCE v2";

    private final VerbsContext verbs;
    private final Path folder;
    private final boolean isIwarp;

    /** Makes a reader for the open device whose C structure is at {@code address}. */
    SysfsGids(VerbsContext verbs, long address) {
        MemorySegment device = Memory.at(ContextTables.pointerAt(address + IbvContext.DEVICE), IbvDevice.SIZE);
        this.verbs = verbs;
        this.folder = Path.of(device.asSlice(IbvDevice.IBDEV_PATH).getString(0));
        this.isIwarp = device.get(JAVA_INT, IbvDevice.TRANSPORT_TYPE) == IbvTransportType.IBV_TRANSPORT_IWARP;
    }

    /** Queries one entry; see {@link VerbsContext#queryGidEntry}. */
    int queryEntry(int port, int index, MemorySegment entry) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attributes = arena.allocate(IbvPortAttr.SIZE, JAVA_LONG.byteAlignment());
            int result = verbs.queryPort(port, attributes);
            if (result < 0) {
                return result;
            }
            if (index < 0 || index >= attributes.get(JAVA_INT, IbvPortAttr.GID_TBL_LEN)) {
                return -Errno.EINVAL;
            }
            result = fill(port, index, attributes, entry);
            return result < 0 ? result : isEmpty(entry) ? -Errno.ENODATA : 0;
        }
    }

    /** Queries all entries; see {@link VerbsContext#queryGidTable}. */
    int queryTable(MemorySegment entries) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment device = arena.allocate(IbvDeviceAttr.SIZE, JAVA_LONG.byteAlignment());
            MemorySegment attributes = arena.allocate(IbvPortAttr.SIZE, JAVA_LONG.byteAlignment());
            MemorySegment entry = arena.allocate(IbvGidEntry.SIZE, JAVA_LONG.byteAlignment());
            int result = verbs.queryDevice(device);
            int ports = Byte.toUnsignedInt(device.get(JAVA_BYTE, IbvDeviceAttr.PHYS_PORT_CNT));
            int found = 0;
            for (int port = 1; port <= ports && result >= 0; port++) {
                result = verbs.queryPort(port, attributes);
                int length = attributes.get(JAVA_INT, IbvPortAttr.GID_TBL_LEN);
                for (int index = 0; index < length && result >= 0; index++) {
                    result = fill(port, index, attributes, entry);
                    if (result < 0 || isEmpty(entry)) {
                        continue;
                    }
                    if (found == entries.byteSize() / IbvGidEntry.SIZE) {
                        return -Errno.EINVAL;
                    }
                    MemorySegment.copy(entry, 0, entries, (long) found++ * IbvGidEntry.SIZE, IbvGidEntry.SIZE);
                }
            }
            return result < 0 ? result : found;
        }
    }

    private static boolean isEmpty(MemorySegment entry) {
        return entry.get(JAVA_LONG, IbvGidEntry.GID) == 0 && entry.get(JAVA_LONG, IbvGidEntry.GID + Long.BYTES) == 0;
    }

    private int fill(int port, int index, MemorySegment attributes, MemorySegment entry) {
        int result = verbs.queryGid(port, index, entry.asSlice(IbvGidEntry.GID, IbvGid.SIZE));
        if (result < 0) {
            return result;
        }
        boolean isEthernet = attributes.get(JAVA_BYTE, IbvPortAttr.LINK_LAYER)
                == IbvLinkLayer.IBV_LINK_LAYER_ETHERNET;
        entry.set(JAVA_INT, IbvGidEntry.GID_INDEX, index);
        entry.set(JAVA_INT, IbvGidEntry.PORT_NUM, port);
        int type = isEthernet && !isIwarp ? roceType(port, index) : IbvGidType.IBV_GID_TYPE_IB;
        entry.set(JAVA_INT, IbvGidEntry.GID_TYPE, type);
        entry.set(JAVA_INT, IbvGidEntry.NDEV_IFINDEX, interfaceIndex(port, index));
        return 0;
    }

    private int roceType(int port, int index) {
        return ROCE_V2.equals(read(attribute(port, "types", index)))
                ? IbvGidType.IBV_GID_TYPE_ROCE_V2
                : IbvGidType.IBV_GID_TYPE_ROCE_V1;
    }

    private int interfaceIndex(int port, int index) {
        String name = read(attribute(port, "ndevs", index));
        return name.isEmpty() ? 0 : number(read(Path.of("/sys/class/net", name, "ifindex")));
    }

    private Path attribute(int port, String kind, int index) {
        return folder.resolve("ports/" + port + "/gid_attrs/" + kind + "/" + index);
    }

    private static int number(String text) {
        try {
            return Integer.parseInt(text);
        } catch (NumberFormatException e) {
            return 0; // the interface is gone meanwhile
        }
    }

    /**
     * Returns the text of a file; empty if it cannot be read. The kernel reports an empty entry by errors of several
     * kinds.
     */
    private static String read(Path file) {
        try {
            return Files.readString(file).strip();
        } catch (IOException e) {
            return "";
        }
    }
}
