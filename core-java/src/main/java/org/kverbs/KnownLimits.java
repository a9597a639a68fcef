package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.DeviceAttributes;
import org.kverbs.internal.Structures;
import org.kverbs.internal.abi.IbvDeviceAttr;
import org.kverbs.spi.VerbsContext;

/** The limits of an open device, which do not change, for the messages of refused requests. */
final class KnownLimits {

    private final VerbsContext verbs;
    /** The answer to the last query of the device, or null before the first one. */
    private volatile @Nullable DeviceAttributes known;

    KnownLimits(VerbsContext verbs) {
        this.verbs = verbs;
    }

    /** Keeps an answer of the device, and returns it. */
    DeviceAttributes note(DeviceAttributes answer) {
        known = answer;
        return answer;
    }

    /**
     * Compares the sizes of a refused request with the limits of this device. The caller has entered the guard of the
     * context or of an object made from it.
     *
     * @return sentences for the message; empty if every size is within its limit or the device does not answer the
     *     query
     */
    String excess(BiConsumer<Excess, DeviceAttributes> compare) {
        DeviceAttributes limits = known;
        if (limits == null) {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment attributes = arena.allocate(IbvDeviceAttr.SIZE, JAVA_LONG.byteAlignment());
                if (verbs.queryDevice(attributes) < 0) {
                    return "";
                }
                limits = Structures.DEVICE.read(attributes);
            }
        }
        var excess = new Excess();
        compare.accept(excess, limits);
        return excess.toString();
    }
}
