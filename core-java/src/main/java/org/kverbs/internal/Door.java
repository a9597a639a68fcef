package org.kverbs.internal;

import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A way from an object of a public class to a part of it that is private to its package, for kverbs' other packages.
 * The class opens it in its static initializer; so it is open before there is an object to come with.
 *
 * @param <T> the part
 */
public final class Door<T> {

    private @Nullable Function<Object, T> way;

    Door() {}

    /** Opens the door, once. */
    public void open(Function<Object, T> way) {
        if (this.way != null) {
            throw new IllegalStateException("the door is open already");
        }
        this.way = way;
    }

    /** The part of {@code object}. */
    public T of(Object object) {
        Function<Object, T> open = way;
        if (open == null) {
            throw new IllegalArgumentException("no class has opened this door for " + object);
        }
        return open.apply(object);
    }
}
