package org.kverbs.internal.ffm;

import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvGidEntry;

/** Queries of an open device of libibverbs that older releases or drivers answer in another way. */
final class NativeQueries {

    private static final ValueLayout.OfShort BIG_SHORT = JAVA_SHORT.withOrder(ByteOrder.BIG_ENDIAN);

    private final NativeContext opened;
    private final Libibverbs verbs;
    private final long context;
    private final ContextTables tables;

    NativeQueries(NativeContext opened, Libibverbs verbs, long context, ContextTables tables) {
        this.opened = opened;
        this.verbs = verbs;
        this.context = context;
        this.tables = tables;
    }

    /** Asks by the extended call, or by the older one where the driver or the library lacks it. */
    int deviceEx(MemorySegment attributes) {
        int result = tables.queryDeviceEx(attributes);
        if (result != -Errno.EOPNOTSUPP && result != -Errno.ENOSYS) {
            return result;
        }
        attributes.fill((byte) 0);
        return verbs.queryDevice(context, attributes.address()); // orig_attr is the first member
    }

    /** Asks by the newer call, or by the exported one, which fills fewer bytes. */
    int port(int port, MemorySegment attributes) {
        int result = tables.queryPort(port, attributes);
        return result == -Errno.EOPNOTSUPP ? verbs.queryPort(context, port, attributes.address()) : result;
    }

    /** Asks the library, or sysfs with a library that has no such call. */
    int gidEntry(int port, int index, MemorySegment entry) {
        return verbs.hasGidEntries()
                ? verbs.queryGidEx(context, port, index, entry.address(), IbvGidEntry.SIZE)
                : new SysfsGids(opened, context).queryEntry(port, index, entry);
    }

    /** Asks the library, or sysfs with a library that has no such call. */
    int gidTable(MemorySegment entries) {
        long room = entries.byteSize() / IbvGidEntry.SIZE;
        return verbs.hasGidTable()
                ? verbs.queryGidTable(context, entries.address(), room, IbvGidEntry.SIZE)
                : new SysfsGids(opened, context).queryTable(entries);
    }

    /** Returns the key in host order, or -errno. */
    int pkey(int port, int index) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment pkey = arena.allocate(JAVA_SHORT);
            int result = verbs.queryPkey(context, port, index, pkey.address());
            return result < 0 ? result : Short.toUnsignedInt(pkey.get(BIG_SHORT, 0));
        }
    }

    /** Returns the index of a key in host order, or -errno. */
    int pkeyIndex(int port, int pkey) {
        int bigEndian = ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN
                ? pkey
                : Short.toUnsignedInt(Short.reverseBytes((short) pkey));
        return verbs.getPkeyIndex(context, port, bigEndian);
    }
}
