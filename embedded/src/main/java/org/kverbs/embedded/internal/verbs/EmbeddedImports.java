package org.kverbs.embedded.internal.verbs;

import java.util.function.Function;
import org.kverbs.embedded.Operation;
import org.kverbs.embedded.internal.objects.Dm;
import org.kverbs.embedded.internal.objects.Handles;
import org.kverbs.embedded.internal.objects.Mr;
import org.kverbs.embedded.internal.objects.Pd;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.internal.Refusal;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvMr;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.ImportVerbs;

/**
 * Imports the objects of other contexts of the same {@link CommandFile}. An import is a structure of this context that
 * has the number of the exporter's object; it finds nothing once the exporter destroyed the object. Each call takes the
 * engine's lock.
 */
final class EmbeddedImports implements ImportVerbs {

    private final Hca hca;
    private final DeviceCalls calls;
    private final CommandFile file;
    private final int descriptor = CommandFile.freshDescriptor();
    private final Handles<Pd> domains;
    private final Handles<Mr> regions;
    private final Handles<Dm> memories;

    EmbeddedImports(Hca hca, CommandFile file, Handles<Pd> domains, Handles<Mr> regions, Handles<Dm> memories) {
        this.hca = hca;
        this.calls = new DeviceCalls(hca);
        this.file = file;
        this.domains = domains;
        this.regions = regions;
        this.memories = memories;
        file.join(this);
    }

    /** Leaves the file; called with the lock held when the device is closed. */
    void close() {
        file.leave(this);
    }

    /** Makes a structure for an object of another context. */
    private <T> long imported(Operation operation, Function<EmbeddedImports, Handles<T>> table, int number) {
        int refusal = hca.refuse(operation);
        if (refusal < 0) {
            return refusal;
        }
        Handles<T> owner = file.owner(table, number);
        return owner == null
                ? Refusal.because(Errno.ENOENT, "No context that shares the descriptor has such an object of number "
                        + number + ": its exporter has closed it, or never had it.")
                : table.apply(this).addImported(owner, number);
    }

    @Override
    public int commandDescriptor() {
        return descriptor;
    }

    @Override
    public int duplicateDescriptor() {
        return file.duplicate();
    }

    @Override
    public long importPd(int handle) {
        return calls.make(() -> imported(Operation.IMPORT_PROTECTION_DOMAIN, it -> it.domains, handle));
    }

    @Override
    public void unimportPd(long pd) {
        calls.run(() -> domains.removeImported(pd));
    }

    @Override
    public long importMemory(long pd, int handle) {
        return calls.make(() -> {
            Pd domain = domains.get(pd);
            if (domain == null) {
                return -Errno.EINVAL;
            }
            long structure = imported(Operation.IMPORT_MEMORY, it -> it.regions, handle);
            if (structure > 0) {
                Mr region = regions.require(structure);
                Memory.putLong(structure + IbvMr.PD, pd);
                Memory.putLong(structure + IbvMr.LENGTH, region.length);
                Memory.putInt(structure + IbvMr.LKEY, region.lkey);
                Memory.putInt(structure + IbvMr.RKEY, region.key);
            }
            return structure;
        });
    }

    @Override
    public void unimportMemory(long mr) {
        calls.run(() -> regions.removeImported(mr));
    }

    @Override
    public long importDeviceMemory(int handle) {
        return calls.make(() -> imported(Operation.IMPORT_DEVICE_MEMORY, it -> it.memories, handle));
    }

    @Override
    public void unimportDeviceMemory(long dm) {
        calls.run(() -> memories.removeImported(dm));
    }
}
