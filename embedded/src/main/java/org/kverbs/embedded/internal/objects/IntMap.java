package org.kverbs.embedded.internal.objects;

import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Maps numbers to objects, with look-ups that allocate nothing. The object of the last look-up is found at once: the
 * messages of a connection name the same queue pair and the same regions again.
 */
public final class IntMap<T> {

    private int[] keys = new int[64];
    private @Nullable Object[] values = new Object[64];
    private int size;
    /** The place where the last look-up ended. An index and no object: storing that would cost a GC write barrier. */
    private int last;

    public int size() {
        return size;
    }

    @SuppressWarnings("unchecked") // only put writes, and it takes T
    public @Nullable T get(int key) {
        int at = last;
        if (keys[at] != key || values[at] == null) {
            at = find(key);
            last = at;
        }
        return (T) values[at];
    }

    @SuppressWarnings("unchecked") // only put writes, and it takes T
    boolean any(Predicate<T> condition) {
        for (Object value : values) {
            if (value != null && condition.test((T) value)) {
                return true;
            }
        }
        return false;
    }

    /** Calls the action for each object. The action must not change the map. */
    @SuppressWarnings("unchecked") // only put writes, and it takes T
    public void forEach(Consumer<T> action) {
        for (Object value : values) {
            if (value != null) {
                action.accept((T) value);
            }
        }
    }

    public void put(int key, T value) {
        int at = find(key);
        if (values[at] == null) {
            if (2 * (size + 1) > keys.length) {
                grow();
                at = find(key);
            }
            size++;
        }
        keys[at] = key;
        values[at] = value;
    }

    public void remove(int key) {
        int hole = find(key);
        if (values[hole] == null) {
            return;
        }
        size--;
        int mask = keys.length - 1;
        // Moves entries back that a search would no longer reach because of the hole.
        for (int at = (hole + 1) & mask; values[at] != null; at = (at + 1) & mask) {
            int home = home(keys[at]);
            if (((at - home) & mask) >= ((at - hole) & mask)) {
                keys[hole] = keys[at];
                values[hole] = values[at];
                hole = at;
            }
        }
        values[hole] = null;
    }

    private int find(int key) {
        int mask = keys.length - 1;
        int at = home(key);
        while (values[at] != null && keys[at] != key) {
            at = (at + 1) & mask;
        }
        return at;
    }

    private int home(int key) {
        int mixed = key * 0x9E3779B9; // the golden ratio spreads numbers that differ little
        return (mixed ^ mixed >>> 16) & (keys.length - 1);
    }

    private void grow() {
        int[] oldKeys = keys;
        @Nullable Object[] oldValues = values;
        int[] newKeys = new int[2 * oldKeys.length];
        // Without memory for both arrays, the map stays as it is.
        values = new Object[newKeys.length];
        keys = newKeys;
        for (int i = 0; i < oldKeys.length; i++) {
            if (oldValues[i] != null) {
                int at = find(oldKeys[i]);
                keys[at] = oldKeys[i];
                values[at] = oldValues[i];
            }
        }
    }
}
