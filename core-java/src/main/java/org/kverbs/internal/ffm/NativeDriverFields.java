package org.kverbs.internal.ffm;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.IbvWc;
import org.kverbs.internal.abi.IbvWcOpcode;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.CompletionExtras;
import org.kverbs.spi.DriverCompletionQueues.Readers;

/**
 * Reads the fields of the current completion that only a driver's own functions read. They are fields of receives: for
 * a send the functions read something else.
 */
final class NativeDriverFields {

    private final long object;
    private final MemorySegment readSourceGid;
    private final MemorySegment isUnsolicited;

    NativeDriverFields(Readers readers) {
        this.object = readers.object();
        this.readSourceGid = MemorySegment.ofAddress(readers.sourceGid());
        this.isUnsolicited = MemorySegment.ofAddress(readers.unsolicited());
    }

    /**
     * Writes the fields of a completion that was a success.
     *
     * @param completion the {@code struct ibv_wc}, which has its opcode
     * @param to the {@link CompletionExtras}
     */
    void read(long completion, long to) {
        boolean isReceive = (Memory.getInt(completion + IbvWc.OPCODE) & IbvWcOpcode.IBV_WC_RECV) != 0;
        int marks = 0;
        if (isReceive && readSourceGid.address() != 0
                && (int) Downcalls.call(readSourceGid, object, to + CompletionExtras.SOURCE_GID) == 0) {
            marks |= CompletionExtras.WITH_SOURCE_GID;
        }
        if (isReceive && isUnsolicited.address() != 0 && ((int) Downcalls.call(isUnsolicited, object) & 0xff) != 0) {
            marks |= CompletionExtras.WITH_UNSOLICITED; // a bool has 8 bits, and the rest of the register is anything
        }
        Memory.putInt(to + CompletionExtras.MARKS, marks);
    }
}
