package org.kverbs.embedded.internal.objects;

import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Maps numbers to objects, with look-ups that allocate nothing. An object that many look-ups ask for is found at once:
 * the messages of a connection name the same queue pair and the same regions again.
 */
public final class IntMap<T> {

    /**
     * After so many look-ups of other numbers the usual one changes. Not at once: to store an object costs a GC write
     * barrier, and look-ups can alternate between two numbers.
     */
    private static final int MOST_OTHERS = 16;

    private int[] keys = new int[64];
    private @Nullable Object[] values = new Object[64];
    private int size;
    /** A number that many look-ups asked for, and its object; null if there is none. */
    private int usualKey;

    private @Nullable T usual;
    /** The look-ups of other numbers in a row. */
    private int others;

    public int size() {
        return size;
    }

    @SuppressWarnings("unchecked") // only put writes, and it takes T
    public @Nullable T get(int key) {
        T found = usual;
        if (found != null && usualKey == key) {
            others = 0;
            return found;
        }
        found = (T) values[find(key)];
        if (others++ == MOST_OTHERS) {
            usual = found;
            usualKey = key;
            others = 0;
        }
        return found;
    }

    /** Does {@link #get} and changes nothing, so that several threads can look up at the same time. */
    @SuppressWarnings("unchecked") // only put writes, and it takes T
    public @Nullable T peek(int key) {
        return (T) values[find(key)];
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
        usual = null;
    }

    public void remove(int key) {
        int hole = find(key);
        if (values[hole] == null) {
            return;
        }
        size--;
        usual = null;
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
