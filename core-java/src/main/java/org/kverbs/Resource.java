package org.kverbs;

import java.util.Arrays;
import java.util.function.IntSupplier;
import java.util.function.LongFunction;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.kverbs.internal.Lifetime;

/**
 * Something that was opened or created and has to be closed: a device context, a connection event channel, or what was
 * made from it.
 *
 * <p><b>Ownership.</b> A resource keeps its parents reachable, and closing a parent first closes everything that was
 * made from it, newest first, but memory regions after the queue pairs that may have posted them. So closing the
 * {@link Context} closes all. Each failure is kept: the first is thrown, the others are its suppressed exceptions.
 *
 * <p><b>Reachability.</b> Every open resource stays reachable, whether the program holds a reference to it or not: the
 * device may use its memory at any time. A program that drops an open context without closing it leaks what was made
 * from it.
 *
 * <p><b>Threads.</b> {@link #close} may be called from any thread and any number of times; the second call waits for
 * the first to end and then does nothing. It waits until calls on the resource that are under way have returned, and
 * ends those that wait for an event. Any later call is an {@link IllegalStateException} that names the resource; with
 * {@link Diagnostics} on, its cause shows where the resource was closed. A close does not wait for a block that is
 * writing a post to a queue pair; that post fails then.
 *
 * <p><b>Errors.</b> If the device refuses to destroy it (EBUSY: something that was not made through kverbs uses it),
 * close throws {@link RdmaSystemException}, the resource stays unusable, and close may be called again.
 *
 * <p>The kinds of resources are kverbs' own: a {@code Lifetime}, which the constructor takes, is not exported.
 */
public abstract class Resource implements AutoCloseable {

    static {
        Lifetime.DOOR.open(resource -> ((Resource) resource).lifetime);
    }

    final Lifetime lifetime;

    /** For kverbs' own kinds. */
    @SuppressWarnings("exports") // nobody else can come by a lifetime
    protected Resource(Lifetime lifetime) {
        this.lifetime = lifetime;
    }

    /** What it is, for messages: {@code queue pair 17 (RC) on rxe0}. */
    public abstract String describe();

    /** Whether it is open; false from the moment a close begins. */
    public final boolean isOpen() {
        return lifetime.isOpen();
    }

    /** Closes everything that was made from it, newest first, and then itself. See the class. */
    @Override
    public final void close() {
        lifetime.close();
    }

    /**
     * Runs an action once this is closed and its native object is destroyed, on the thread that closed it; at once if
     * that has been already. What the action throws, the close throws, after all actions have run. A layer above ends
     * its waits by it.
     */
    public final void whenClosed(Runnable action) {
        lifetime.whenClosed(action);
    }

    /**
     * Runs an action when this is closed, before its native object is destroyed: when nobody can use it any more, on
     * the thread that closes it; at once if that has been already. What the action throws, the close throws, but it
     * goes on. The action must not wait for another thread that closes this. A layer above takes back by it what it has
     * made of this elsewhere.
     */
    public final void beforeClosed(Runnable action) {
        lifetime.beforeClosed(action);
    }

    /**
     * Makes a child: enters the parents, calls, wraps the handle and registers it.
     *
     * @throws IllegalStateException if a parent is closed
     * @throws RdmaSystemException if the device refuses
     */
    static <T extends Resource> T create(
            String operation, LongSupplier call, LongFunction<T> wrap, Resource... parents) {
        return create(operation, () -> "", call, wrap, parents);
    }

    /** The same with {@code excess}, which gives the exceeded limits after a refusal: see {@link Excess}. */
    static <T extends Resource> T create(
            String operation, Supplier<String> excess, LongSupplier call, LongFunction<T> wrap, Resource... parents) {
        Lifetime[] lifetimes = Arrays.stream(parents).map(parent -> parent.lifetime).toArray(Lifetime[]::new);
        return Lifetime.create(call, errno -> SystemErrors.refused(operation, errno, excess), wrap, lifetimes);
    }

    /** Calls on this resource, with the guard entered, and gives a result that isn't below zero. */
    final int command(String operation, IntSupplier call) {
        return command(operation, () -> "", call);
    }

    /** The same with {@code excess}, as for a creation. */
    final int command(String operation, Supplier<String> excess, IntSupplier call) {
        return lifetime.call(call, errno -> SystemErrors.refused(operation, errno, excess));
    }

    /** The exception for a use after close. */
    final IllegalStateException closed() {
        return lifetime.closed();
    }
}
