package org.kverbs.embedded.internal.verbs;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.objects.Handles;
import org.kverbs.embedded.internal.transport.Hca;

/**
 * Stands for the kernel's open file of a device: it joins a context and those that were imported from it, so that each
 * finds the objects of the others by number. Its descriptors are numbers of this process, above those that an operating
 * system gives. Guarded by the engine's lock, except for the descriptors.
 */
final class CommandFile {

    private static final AtomicInteger LAST = new AtomicInteger(1 << 30);
    /** The duplicates that nobody has imported yet. */
    private static final Map<Integer, CommandFile> DUPLICATES = new ConcurrentHashMap<>();

    private final Hca hca;
    private final List<EmbeddedImports> members = new ArrayList<>();

    CommandFile(Hca hca) {
        this.hca = hca;
    }

    /** Returns the file of a duplicate, which ends with this call; null if it is none of this device. */
    static @Nullable CommandFile take(Hca hca, int duplicate) {
        CommandFile file = DUPLICATES.get(duplicate);
        return file != null && file.hca == hca && DUPLICATES.remove(duplicate, file) ? file : null;
    }

    /** Returns a number that no descriptor had before. */
    static int freshDescriptor() {
        return LAST.incrementAndGet();
    }

    int duplicate() {
        int duplicate = freshDescriptor();
        DUPLICATES.put(duplicate, this);
        return duplicate;
    }

    void join(EmbeddedImports member) {
        members.add(member);
    }

    /** Takes a context out. With the last one, the duplicates end, too. */
    void leave(EmbeddedImports member) {
        members.remove(member);
        if (members.isEmpty()) {
            DUPLICATES.values().removeIf(file -> file == this);
        }
    }

    /** Returns the table that has an object of its own under a number; null if there is none. */
    <T> @Nullable Handles<T> owner(Function<EmbeddedImports, Handles<T>> table, int number) {
        for (EmbeddedImports member : members) {
            Handles<T> handles = table.apply(member);
            if (handles.owns(number)) {
                return handles;
            }
        }
        return null;
    }
}
