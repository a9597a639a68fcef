package org.kverbs.embedded.internal.objects;

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

    public Handles(Structures structures, int size, int handleOffset, Quota quota) {
        this.structures = structures;
        this.size = size;
        this.handleOffset = handleOffset;
        this.quota = quota;
        structures.whenClosed(() -> quota.giveBack(objects.size()));
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
        return address == 0 ? null : objects.get(Memory.getInt(address + handleOffset));
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
