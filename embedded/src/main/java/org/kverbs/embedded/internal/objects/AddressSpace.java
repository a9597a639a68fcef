package org.kverbs.embedded.internal.objects;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Tells which pages of this process are mapped, as the kernel lists them in {@code /proc/self} (man 5 proc). Where
 * there is no such list, every page counts as mapped. Linux 5.14 brings pages in without the list. Called with the
 * lock held.
 */
public final class AddressSpace {

    static final int PAGE_SHIFT = 12;
    /** How long a reading of the list is used: a device that meets many new pages does not read it for each. */
    private static final long FRESH_NANOS = 10_000_000;
    private static final Path MAPS = Path.of("/proc/self/maps");
    private static final Path AUXV = Path.of("/proc/self/auxv");
    private static final long AT_PAGESZ = 6;
    private static final String PAGEMAP = "/proc/self/pagemap";
    /** The bit of a page in {@code pagemap} that tells whether it is in memory. */
    private static final long PRESENT = 1L << 63;

    /** The starts of mappings that can be read, in rising order. */
    private long[] starts = {};
    private long[] ends = {};
    private boolean[] writable = {};
    private final Path maps;
    private boolean isKnown;
    private long readAt;
    private final @Nullable Populate populate;

    public AddressSpace() {
        this(MAPS, OfThisSystem.POPULATE);
    }

    /** Makes a view by a list of mappings alone. */
    AddressSpace(Path maps) {
        this(maps, null);
    }

    private AddressSpace(Path maps, @Nullable Populate populate) {
        this.maps = maps;
        this.populate = populate;
    }

    /** What the system can do; looked up at the first use. */
    private static final class OfThisSystem {
        static final @Nullable Populate POPULATE = find();

        private static @Nullable Populate find() {
            int shift = pageShift();
            return shift == 0 ? null : Populate.of(1L << shift);
        }
    }

    /**
     * Brings the pages of a range in, for reading or also for writing. Returns false if a touch of the range would not
     * be allowed at this moment. A system that cannot tell so answers as {@link #isMapped} does.
     */
    boolean bring(long address, long bytes, boolean writes) {
        return populate == null ? isMapped(address, bytes, writes) : populate.bring(address, bytes, writes);
    }

    /**
     * Tells whether the list of mappings has a range, for reading or also for writing. The answer can be {@value
     * #FRESH_NANOS} ns old.
     */
    boolean isMapped(long address, long bytes, boolean writes) {
        if (isKnown && System.nanoTime() - readAt < FRESH_NANOS && covers(address, bytes, writes)) {
            return true;
        }
        return !read() || covers(address, bytes, writes);
    }

    private boolean covers(long address, long bytes, boolean writes) {
        long end = address + bytes;
        long reached = address;
        int found = Arrays.binarySearch(starts, address);
        for (int i = found < 0 ? -found - 2 : found; i >= 0 && i < starts.length && reached < end; i++) {
            if (starts[i] > reached || ends[i] <= reached || writes && !writable[i]) {
                return false;
            }
            reached = ends[i];
        }
        return reached >= end;
    }

    /** Reads the list, which is empty if it cannot be read now. Returns false if the system has none. */
    private boolean read() {
        try {
            List<String> lines = Files.readAllLines(maps, StandardCharsets.ISO_8859_1);
            starts = new long[lines.size()];
            ends = new long[lines.size()];
            writable = new boolean[lines.size()];
            int count = 0;
            for (String line : lines) { // 7f0000000000-7f0000001000 rw-p ...
                int dash = line.indexOf('-');
                int space = line.indexOf(' ');
                if (line.charAt(space + 1) == 'r') {
                    starts[count] = Long.parseUnsignedLong(line, 0, dash, 16);
                    ends[count] = Long.parseUnsignedLong(line, dash + 1, space, 16);
                    writable[count++] = line.charAt(space + 2) == 'w';
                }
            }
            starts = Arrays.copyOf(starts, count);
            isKnown = true;
            readAt = System.nanoTime();
            return true;
        } catch (NoSuchFileException e) {
            isKnown = false;
            return false;
        } catch (IOException e) { // such as no file descriptor left: what is not known to be mapped is not touched
            isKnown = false;
            starts = new long[0];
            return true;
        }
    }

    /**
     * Tells for each page from an address on whether it is in memory; null if the system does not tell.
     *
     * @param address the address of the first page
     */
    boolean @Nullable [] present(long address, int pages) {
        int shift = pageShift();
        if (shift < PAGE_SHIFT) {
            return null;
        }
        long first = address >>> shift;
        long last = address + ((long) pages << PAGE_SHIFT) - 1 >>> shift;
        var entries = ByteBuffer.allocate((int) (last - first + 1) * Long.BYTES).order(ByteOrder.nativeOrder());
        // Not a channel: an interrupt of the thread closes that.
        try (var file = new RandomAccessFile(PAGEMAP, "r")) {
            file.seek(first * Long.BYTES);
            file.readFully(entries.array());
        } catch (IOException | SecurityException e) {
            return null;
        }
        var present = new boolean[pages];
        for (int i = 0; i < pages; i++) {
            long entry = (address + ((long) i << PAGE_SHIFT) >>> shift) - first;
            present[i] = (entries.getLong((int) entry * Long.BYTES) & PRESENT) != 0;
        }
        return present;
    }

    /** Returns the exponent of the kernel's page size; 0 if the system does not tell (man 3 getauxval). */
    private static int pageShift() {
        try {
            ByteBuffer vector = ByteBuffer.wrap(Files.readAllBytes(AUXV)).order(ByteOrder.nativeOrder());
            while (vector.remaining() >= 2 * Long.BYTES) {
                long type = vector.getLong();
                long value = vector.getLong();
                if (type == AT_PAGESZ) {
                    return Long.numberOfTrailingZeros(value);
                }
            }
        } catch (IOException | SecurityException e) {
            return 0;
        }
        return 0;
    }
}
