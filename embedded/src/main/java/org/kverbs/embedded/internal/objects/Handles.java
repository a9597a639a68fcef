package org.kverbs.embedded.internal.objects;

import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.LongFunction;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.memory.Memory;

/**
 * Holds the objects of one kind that a context has, and finds them by the address of their C structure. The structure's
 * handle field, which belongs to the driver, holds the object's number, so that a look-up allocates nothing. No number
 * is used twice, so that another context's structures are not found.
 */
public final class Handles<T> {

    private static final AtomicInteger LAST = new AtomicInteger();

    private final Structures structures;
    private final int size;
    private final int handleOffset;
    private final Quota quota;
    private final IntMap<T> objects = new IntMap<>();
    /** The imports: structures of this context for objects of others, by the number of the object. */
    private final Map<Integer, Imported<T>> imports = new HashMap<>();
    private boolean isClosed;

    /** An object of another context, and how many structures of this context there are for it. */
    private record Imported<T>(Handles<T> owner, int structures) {}

    public Handles(Structures structures, int size, int handleOffset, Quota quota) {
        this.structures = structures;
        this.size = size;
        this.handleOffset = handleOffset;
        this.quota = quota;
        structures.whenClosed(() -> {
            isClosed = true;
            quota.giveBack(objects.size());
        });
    }

    /** Tells whether the condition holds for one of the objects. */
    public boolean any(Predicate<T> condition) {
        return objects.any(condition);
    }

    public void forEach(Consumer<T> action) {
        objects.forEach(action);
    }

    /**
     * Makes an object with its structure.
     *
     * @return the structure's address, or -ENOMEM if the device's limit is reached
     */
    public long add(LongFunction<T> constructor) {
        int result = quota.take(1);
        if (result < 0) {
            return result;
        }
        long address = 0;
        try {
            address = structures.allocate(size);
            int number = LAST.incrementAndGet();
            Memory.putInt(address + handleOffset, number);
            objects.put(number, constructor.apply(address));
            return address;
        } catch (Throwable e) {
            quota.giveBack(1); // an object that was not made does not count, for example if no memory was left
            if (address != 0) {
                structures.release(address, size);
            }
            throw e;
        }
    }

    /** Returns the object, or null if there is none. */
    public @Nullable T get(long address) {
        if (address == 0) {
            return null;
        }
        int number = Memory.getInt(address + handleOffset);
        T own = objects.get(number);
        return own != null || imports.isEmpty() ? own : imported(number);
    }

    private @Nullable T imported(int number) {
        Imported<T> imported = imports.get(number);
        return imported != null && imported.owner.owns(number) ? imported.owner.objects.get(number) : null;
    }

    /** Tells whether an object of this context itself, not an import, has a number. */
    public boolean owns(int number) {
        return !isClosed && objects.get(number) != null;
    }

    /** Tells whether a structure stands for an object of another context, which only that context destroys. */
    public boolean isImported(long address) {
        return !owns(Memory.getInt(address + handleOffset));
    }

    /** Makes a structure for an object of another context, whose limit it does not count for. */
    public long addImported(Handles<T> owner, int number) {
        long address = structures.allocate(size);
        Memory.putInt(address + handleOffset, number);
        imports.merge(
                number, new Imported<>(owner, 1), (old, one) -> new Imported<>(owner, old.structures + one.structures));
        return address;
    }

    /** Forgets a structure of {@link #addImported}. Returns 0. */
    public int removeImported(long address) {
        imports.computeIfPresent(
                Memory.getInt(address + handleOffset),
                (number, old) -> old.structures == 1 ? null : new Imported<>(old.owner, old.structures - 1));
        structures.release(address, size);
        return 0;
    }

    /** Returns the object at an address that {@link #add} returned and {@link #remove} has not forgotten. */
    public T require(long address) {
        return Objects.requireNonNull(get(address));
    }

    /** Forgets the object. Another object may reuse its structure. */
    public void remove(long address) {
        objects.remove(Memory.getInt(address + handleOffset));
        quota.giveBack(1);
        structures.release(address, size);
    }
}
