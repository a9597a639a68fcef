package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.stream.IntStream;
import org.kverbs.attributes.Gid;
import org.kverbs.attributes.GidEntry;
import org.kverbs.attributes.GidType;
import org.kverbs.attributes.LinkLayer;
import org.kverbs.internal.Structures;
import org.kverbs.internal.abi.IbvGid;
import org.kverbs.internal.abi.IbvGidEntry;

/** Queries the GIDs of a device's ports. */
final class GidQueries {

    private GidQueries() {}

    /** See {@link Context#queryGid}. */
    static Gid gid(Context context, int port, int index) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment gid = arena.allocate(IbvGid.SIZE, JAVA_LONG.byteAlignment());
            context.command(
                    call(context, "ibv_query_gid", port, index), () -> context.verbs.queryGid(port, index, gid));
            return Structures.GID.read(gid);
        }
    }

    /** See {@link Context#queryGidEntry}. */
    static GidEntry entry(Context context, int port, int index) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment entry = arena.allocate(IbvGidEntry.SIZE, JAVA_LONG.byteAlignment());
            context.command(
                    call(context, "ibv_query_gid_ex", port, index),
                    () -> context.verbs.queryGidEntry(port, index, entry));
            return Structures.GID_ENTRY.read(entry);
        }
    }

    /** Names a call for the messages of its exceptions. */
    static String call(Context context, String call, int port, int index) {
        return call + "(" + context.device().name() + ", port=" + port + ", index=" + index + ")";
    }

    /** See {@link Context#queryGidTable()}. */
    static List<GidEntry> table(Context context) {
        int ports = context.queryDevice().physPortCnt();
        int entries = IntStream.rangeClosed(1, ports).map(port -> context.queryPort(port).gidTableLength()).sum();
        return table(context, entries);
    }

    /** See {@link Context#queryGidTable(int)}. */
    static List<GidEntry> table(Context context, int maximum) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment table = arena.allocate((long) maximum * IbvGidEntry.SIZE, JAVA_LONG.byteAlignment());
            int count = context.command(
                    "ibv_query_gid_table(" + context.device().name() + ", max_entries=" + maximum + ")",
                    () -> context.verbs.queryGidTable(table));
            return IntStream.range(0, count)
                    .mapToObj(i -> table.asSlice((long) i * IbvGidEntry.SIZE, IbvGidEntry.SIZE))
                    .map(Structures.GID_ENTRY::read)
                    .toList();
        }
    }

    /** See {@link Context#defaultGidIndex}. */
    static int defaultIndex(Context context, int port) {
        if (context.queryPort(port).linkLayer() != LinkLayer.ETHERNET) {
            return 0;
        }
        List<GidEntry> routable = table(context).stream()
                .filter(entry -> entry.port() == port && entry.type() == GidType.ROCE_V2)
                .toList();
        return routable.stream()
                .filter(entry -> entry.gid().isIpv4Mapped())
                .findFirst()
                .or(() -> routable.stream().findFirst())
                .map(GidEntry::index)
                .orElse(0);
    }
}
