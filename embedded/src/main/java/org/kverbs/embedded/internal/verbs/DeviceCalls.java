package org.kverbs.embedded.internal.verbs;

import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.Operation;
import org.kverbs.embedded.internal.engine.LockedCalls;
import org.kverbs.embedded.internal.transport.Hca;

/**
 * Runs the calls of the C library on a device with the engine's lock held. A call with an operation is refused if the
 * device is broken or if a test refuses the operation.
 */
final class DeviceCalls extends LockedCalls {

    private final Hca hca;

    DeviceCalls(Hca hca) {
        super(hca.engine);
        this.hca = hca;
    }

    /** Runs a call that can be refused and returns a status or a small number. */
    int call(Operation operation, IntSupplier action) {
        return call(() -> {
            int refusal = hca.refuse(operation);
            return refusal < 0 ? refusal : action.getAsInt();
        });
    }

    /** Runs a call that can be refused and returns an address or -errno. */
    long make(Operation operation, LongSupplier action) {
        return make(() -> {
            int refusal = hca.refuse(operation);
            return refusal < 0 ? refusal : action.getAsLong();
        });
    }

    /** Finds an object of the data path, or throws if it was destroyed. */
    <T> T require(Supplier<@Nullable T> action, long address, String what) {
        T found = find(action);
        if (found == null) {
            throw new IllegalArgumentException("there is no " + what + " at 0x" + Long.toHexString(address) + ": it"
                    + " was destroyed, or belongs to another context");
        }
        return found;
    }
}
