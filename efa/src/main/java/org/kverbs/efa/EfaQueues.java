package org.kverbs.efa;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import org.kverbs.efa.internal.Libefa;
import org.kverbs.efa.internal.abi.EfadvCq;
import org.kverbs.efa.internal.abi.EfadvCqInitAttr;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.DriverCompletionQueues;
import org.kverbs.spi.VerbsContext;

/** Makes completion queues with fields of efa ({@code man 3 efadv_create_cq}). */
record EfaQueues(Libefa library, Set<EfaCompletionField> wanted) implements DriverCompletionQueues {

    /** The offset of {@code wc_is_unsolicited} in {@code struct efadv_cq}, behind the fields of rdma-core 44. */
    private static final int IS_UNSOLICITED = EfadvCq.SIZE;

    @Override
    public String function() {
        return "efadv_create_cq";
    }

    @Override
    public String needs() {
        return "The driver efa has the call since rdma-core 43, unsolicited receives since 52, and the devices differ:"
                + " EfaDevice.query().";
    }

    @Override
    public int fields() {
        return wanted.stream().mapToInt(field -> field.field).sum();
    }

    @Override
    public long create(VerbsContext verbs, MemorySegment initAttributes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment init = arena.allocate(EfadvCqInitAttr.SIZE, JAVA_LONG.byteAlignment());
            init.set(JAVA_LONG, EfadvCqInitAttr.WC_FLAGS, wanted.stream().mapToInt(field -> field.flag).sum());
            return library.createCq(verbs.nativeAddress(), initAttributes, init);
        }
    }

    @Override
    public Readers readers(VerbsContext verbs, long cq) {
        long object = library.cqFromIbvCqEx(cq);
        return new Readers(
                object,
                function(object, EfaCompletionField.SOURCE_GID, EfadvCq.WC_READ_SGID),
                function(object, EfaCompletionField.UNSOLICITED, IS_UNSOLICITED));
    }

    /** Returns a function pointer; the structure of an older library can end before one that was not asked for. */
    private long function(long object, EfaCompletionField field, int offset) {
        return wanted.contains(field) ? Memory.getLong(object + offset) : 0;
    }
}
