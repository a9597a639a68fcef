package org.kverbs;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntSupplier;
import java.util.function.LongFunction;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.Guard;
import org.kverbs.internal.SystemErrors;

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
 * {@link Diagnostics} on, its cause shows where the resource was closed. A close from inside a post on the same queue
 * pair is an IllegalStateException too, since it would wait for itself; it closes at a second call, after the post.
 *
 * <p><b>Errors.</b> If the device refuses to destroy it (EBUSY: something that was not made through kverbs uses it),
 * close throws {@link RdmaSystemException}, the resource stays unusable, and close may be called again.
 */
public abstract sealed class Resource implements AutoCloseable
        permits AddressHandle,
                CompletionChannel,
                CompletionQueue,
                ConnectionEventChannel,
                ConnectionId,
                Context,
                MemoryRegion,
                MemoryWindow,
                ProtectionDomain,
                QueuePair,
                SharedReceiveQueue {

    private static final AtomicLong SEQUENCE = new AtomicLong();
    /** Open contexts and event channels. The collector finds every other open resource through these. */
    private static final Set<Resource> ROOTS = ConcurrentHashMap.newKeySet();

    private static final Comparator<Resource> NEWEST_FIRST =
            Comparator.comparingInt(Resource::turn)
            .thenComparing(Comparator.comparingLong((Resource r) -> r.sequence).reversed());

    final Guard guard = new Guard();
    private final long sequence = SEQUENCE.incrementAndGet();
    private volatile List<Resource> parents;
    private final Set<Resource> children = new LinkedHashSet<>();
    private final Object closeLock = new Object();
    private volatile boolean destroyed;
    private final @Nullable Throwable openedAt = Diagnostics.stackTrace("opened here");
    /** What it was opened for, if diagnostics were on then and anybody said. */
    private final @Nullable Object owner = openedAt == null ? null : Diagnostics.owner();

    private volatile @Nullable Throwable closedAt;
    /** What {@link #beforeClosed} was given; null once it has been run. */
    private @Nullable List<Runnable> beforeClosed = new ArrayList<>(0);

    /** What {@link #whenClosed} was given; null once it has been run. */
    private @Nullable List<Runnable> whenClosed = new ArrayList<>(0);

    /**
     * @param parents what it is made from; the creating method has entered each one's guard, so none can be closed
     *     before the child is registered
     */
    Resource(List<? extends Resource> parents) {
        this.parents = List.copyOf(parents);
    }

    /** Makes the parents know it; the last act of creation, so that no parent closes a half-made child. */
    final void register() {
        if (parents.isEmpty()) {
            ROOTS.add(this);
        }
        for (Resource parent : parents) {
            synchronized (parent.children) {
                parent.children.add(this);
            }
        }
        Diagnostics.opened(this);
    }

    /** Gives it to another parent than its only one; guards of all three are entered. */
    final void moveTo(Resource parent) {
        synchronized (parent.children) {
            parent.children.add(this);
        }
        Resource former = parents.getFirst();
        parents = List.of(parent);
        synchronized (former.children) {
            former.children.remove(this);
        }
    }

    /** What it is, for messages: {@code queue pair 17 (RC) on rxe0}. */
    public abstract String describe();

    /** Destroys the native object; throws {@link RdmaSystemException} if the device refuses. */
    abstract void destroy();

    /**
     * Lets nobody into the data path any more and waits until all have left it; refuses a thread that is in it itself.
     */
    void quiesce() {}

    /** Ends the waits of other threads inside the guard; the native object is alive. */
    void wake() {}

    /** Whether it is open; false from the moment a close begins. */
    public final boolean isOpen() {
        return !guard.isClosing();
    }

    /** Closes everything that was made from it, newest first, and then itself. See the class. */
    @Override
    public final void close() {
        var failures = new ArrayList<RuntimeException>();
        drain(); // no child can be made from here on
        for (Resource descendant : descendantsNewestFirst()) {
            descendant.closeAlone(failures);
        }
        closeAlone(failures);
        if (!failures.isEmpty()) {
            RuntimeException first = failures.removeFirst();
            failures.forEach(first::addSuppressed);
            throw first;
        }
    }

    /**
     * Runs an action once this is closed and its native object is destroyed, on the thread that closed it; at once if
     * that has been already. What the action throws, the close throws, after all actions have run. A layer above ends
     * its waits by it.
     */
    public final void whenClosed(Runnable action) {
        synchronized (closeLock) {
            if (whenClosed != null) {
                whenClosed.add(action);
                return;
            }
        }
        action.run();
    }

    /**
     * Runs an action when this is closed, before its native object is destroyed: when nobody can use it any more, on
     * the thread that closes it; at once if that has been already. What the action throws, the close throws, but it
     * goes on. The action must not wait for another thread that closes this. A layer above takes back by it what it has
     * made of this elsewhere.
     */
    public final void beforeClosed(Runnable action) {
        synchronized (closeLock) {
            if (beforeClosed != null) {
                beforeClosed.add(action);
                return;
            }
        }
        action.run();
    }

    /** Under the lock, so that a second close waits for the actions. */
    private void runBeforeClosed(List<RuntimeException> failures) {
        List<Runnable> actions = beforeClosed;
        beforeClosed = null;
        run(actions, failures);
    }

    private void runWhenClosed(List<RuntimeException> failures) {
        List<Runnable> actions;
        synchronized (closeLock) {
            actions = whenClosed;
            whenClosed = null;
        }
        run(actions, failures);
    }

    private static void run(@Nullable List<Runnable> actions, List<RuntimeException> failures) {
        if (actions == null) {
            return;
        }
        for (Runnable action : actions) {
            try {
                action.run();
            } catch (RuntimeException e) {
                failures.add(e);
            }
        }
    }

    private void drain() {
        quiesce();
        guard.beginClose();
        synchronized (closeLock) {
            if (!destroyed && !isGone()) { // afterwards another object may have its address
                wake();
            }
        }
        guard.awaitDrained();
    }

    private void closeAlone(List<RuntimeException> failures) {
        try {
            drain();
            synchronized (closeLock) {
                if (destroyed) {
                    return;
                }
                runBeforeClosed(failures);
                closedAt = Diagnostics.stackTrace("closed here");
                if (!isGone()) {
                    destroy();
                }
                destroyed = true;
            }
            ROOTS.remove(this);
            for (Resource parent : parents) {
                synchronized (parent.children) {
                    parent.children.remove(this);
                }
            }
            Diagnostics.closed(this);
            runWhenClosed(failures);
        } catch (RuntimeException e) {
            failures.add(e);
        }
    }

    /** Whether its device was closed although this was refused to be destroyed: the kernel has taken both down. */
    private boolean isGone() {
        return parents.stream().anyMatch(parent -> parent.destroyed || parent.isGone());
    }

    /** Regions go after all that may use them, and before what all of these were made from. */
    private int turn() {
        return switch (this) {
            case MemoryRegion _ -> 1;
            case ProtectionDomain _, CompletionQueue _, CompletionChannel _ -> 2;
            default -> 0;
        };
    }

    private Set<Resource> descendantsNewestFirst() {
        Set<Resource> found = new TreeSet<>(NEWEST_FIRST);
        var open = new ArrayList<Resource>(List.of(this));
        while (!open.isEmpty()) {
            Resource next = open.removeLast();
            List<Resource> below;
            synchronized (next.children) {
                below = List.copyOf(next.children);
            }
            for (Resource child : below) {
                if (found.add(child)) {
                    child.drain(); // nothing new below it either, so that one look is enough
                    open.add(child);
                }
            }
        }
        return found;
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
        enterShared(parents);
        try {
            long handle = call.getAsLong();
            if (handle < 0) {
                throw SystemErrors.refused(operation, (int) -handle, excess);
            }
            T made = wrap.apply(handle);
            made.register();
            return made;
        } finally {
            exitShared(parents);
        }
    }

    /** Calls on this resource, with the guard entered, and gives a result that isn't below zero. */
    final int command(String operation, IntSupplier call) {
        return command(operation, () -> "", call);
    }

    /** The same with {@code excess}, as for a creation. */
    final int command(String operation, Supplier<String> excess, IntSupplier call) {
        enterShared(this);
        try {
            int result = call.getAsInt();
            if (result < 0) {
                throw SystemErrors.refused(operation, -result, excess);
            }
            return result;
        } finally {
            exitShared(this);
        }
    }

    /** Enters this and the others for the creation of a child or for a call; leaves none entered if one is closed. */
    static void enterShared(Resource... resources) {
        for (int i = 0; i < resources.length; i++) {
            boolean entered;
            try {
                entered = resources[i].guard.enterShared();
            } catch (RuntimeException e) {
                exitShared(i, resources);
                throw e;
            }
            if (!entered) {
                exitShared(i, resources);
                throw resources[i].closed();
            }
        }
    }

    static void exitShared(Resource... resources) {
        exitShared(resources.length, resources);
    }

    private static void exitShared(int count, Resource... resources) {
        for (int i = 0; i < count; i++) {
            resources[i].guard.exitShared();
        }
    }

    /** The exception for a use after close. */
    final IllegalStateException closed() {
        Throwable where = closedAt;
        String hint = where == null && !Diagnostics.areOn() ? " (set -Dkverbs.diagnostics=true to see where)" : "";
        return new IllegalStateException(describe() + " is closed" + hint, where);
    }

    /** Where it was opened, if diagnostics were on then. */
    final @Nullable Throwable openedAt() {
        return openedAt;
    }

    /** What this and then all that it was made from were opened for. */
    final List<Object> owners() {
        var owners = new ArrayList<Object>(2);
        if (owner != null) {
            owners.add(owner);
        }
        for (Resource parent : parents) {
            owners.addAll(parent.owners());
        }
        return owners;
    }
}
