package org.kverbs.internal;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntFunction;
import java.util.function.IntSupplier;
import java.util.function.LongFunction;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The life of a resource, from its registration with what it was made from to its end, together with what was made from
 * it. Each kind of resource has its own way to end, and gives it to {@link #begin}; nothing here knows the kinds.
 *
 * <p>A lifetime keeps its parents reachable, and its parents keep it reachable until it is closed. {@code
 * org.kverbs.Resource} says what a user may rely on.
 */
public final class Lifetime {

    /**
     * When a close of a parent comes to it: all users first, newest first, then the memory, then what queues and memory
     * stand on.
     */
    public enum Turn {
        /** It may use memory and queues. */
        USERS,
        /** It is memory that users may use. */
        MEMORY,
        /** Users or memory are made from it. */
        FOUNDATIONS
    }

    /**
     * How a kind of resource ends.
     *
     * @param describe names the resource for messages
     * @param quiesce lets nobody into the data path any more and waits until all have left it; refuses a thread that is
     *     in it itself
     * @param wake ends the waits of other threads inside the guard; the native object is alive
     * @param destroy destroys the native object, or throws if the device refuses
     */
    public record Ending(Supplier<String> describe, Runnable quiesce, Runnable wake, Runnable destroy) {

        /** For a kind that has no data path of its own and that nobody waits for. */
        public static Ending of(Supplier<String> describe, Runnable destroy) {
            return new Ending(describe, () -> {}, () -> {}, destroy);
        }

        /** The same for a kind with a data path of its own. */
        public Ending quiescing(Runnable quiesce) {
            return new Ending(describe, quiesce, wake, destroy);
        }

        /** The same for a kind that threads wait for. */
        public Ending waking(Runnable wake) {
            return new Ending(describe, quiesce, wake, destroy);
        }
    }

    private static final AtomicLong SEQUENCE = new AtomicLong();
    /** Open lifetimes without a parent. The collector finds every other open one through these. */
    private static final Set<Lifetime> ROOTS = ConcurrentHashMap.newKeySet();

    private static final Comparator<Lifetime> NEWEST_FIRST =
            Comparator.comparing((Lifetime l) -> l.turn)
                    .thenComparing(Comparator.comparingLong((Lifetime l) -> l.sequence).reversed());

    /** From a {@code org.kverbs.Resource} to its lifetime. */
    public static final Door<Lifetime> DOOR = new Door<>();

    private final Guard guard = new Guard();
    private final long sequence = SEQUENCE.incrementAndGet();
    private final Turn turn;
    private volatile List<Lifetime> parents;
    private final Set<Lifetime> children = new LinkedHashSet<>();
    private final Object closeLock = new Object();
    private @Nullable Object resource;
    private @Nullable Ending ending;
    private volatile boolean destroyed;
    private final @Nullable Throwable openedAt = Traces.stackTrace("opened here");
    /** What it was opened for, if traces were on then and anybody said. */
    private final @Nullable Object owner = openedAt == null ? null : Traces.owner();

    private volatile @Nullable Throwable closedAt;
    /** What {@link #beforeClosed} was given; null once it has been run. */
    private @Nullable List<Runnable> beforeClosed = new ArrayList<>(0);

    /** What {@link #whenClosed} was given; null once it has been run. */
    private @Nullable List<Runnable> whenClosed = new ArrayList<>(0);

    /**
     * Starts a lifetime that nobody knows yet.
     *
     * @param parents what the resource is made from; the creating method has entered each one's guard, so none can be
     *     closed before the child is registered
     */
    public Lifetime(Turn turn, Lifetime... parents) {
        this.turn = turn;
        this.parents = List.of(parents);
    }

    /** Says whose lifetime it is and how that ends; the last act of the resource's constructor. */
    public void begin(Object resource, Ending ending) {
        this.resource = resource;
        this.ending = ending;
    }

    /** Makes the parents know it; the last act of creation, so that no parent closes a half-made child. */
    public void register() {
        if (parents.isEmpty()) {
            ROOTS.add(this);
        }
        for (Lifetime parent : parents) {
            synchronized (parent.children) {
                parent.children.add(this);
            }
        }
        Traces.opened(this);
    }

    /** Gives it to another parent than its only one; guards of all three are entered. */
    public void moveTo(Lifetime parent) {
        synchronized (parent.children) {
            parent.children.add(this);
        }
        Lifetime former = parents.getFirst();
        parents = List.of(parent);
        synchronized (former.children) {
            former.children.remove(this);
        }
    }

    /** Whether it is open; false from the moment a close begins. */
    public boolean isOpen() {
        return !guard.isClosing();
    }

    /** Closes everything that was made from it, newest first, and then the resource itself. */
    public void close() {
        var failures = new ArrayList<RuntimeException>();
        drain(); // no child can be made from here on
        for (Lifetime descendant : descendantsNewestFirst()) {
            descendant.closeAlone(failures);
        }
        closeAlone(failures);
        if (!failures.isEmpty()) {
            RuntimeException first = failures.removeFirst();
            failures.forEach(first::addSuppressed);
            throw first;
        }
    }

    /** Runs an action once the native object is destroyed; at once if that has been already. */
    public void whenClosed(Runnable action) {
        synchronized (closeLock) {
            if (whenClosed != null) {
                whenClosed.add(action);
                return;
            }
        }
        action.run();
    }

    /** Runs an action when nobody can use the resource any more, before its native object is destroyed. */
    public void beforeClosed(Runnable action) {
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
        ending().quiesce().run();
        guard.beginClose();
        synchronized (closeLock) {
            if (!destroyed && !isGone()) { // afterwards another object may have its address
                ending().wake().run();
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
                closedAt = Traces.stackTrace("closed here");
                if (!isGone()) {
                    ending().destroy().run();
                }
                destroyed = true;
            }
            ROOTS.remove(this);
            for (Lifetime parent : parents) {
                synchronized (parent.children) {
                    parent.children.remove(this);
                }
            }
            Traces.closed(this);
            runWhenClosed(failures);
        } catch (RuntimeException e) {
            failures.add(e);
        }
    }

    /** Whether its device was closed although this was refused to be destroyed: the kernel has taken both down. */
    private boolean isGone() {
        return parents.stream().anyMatch(parent -> parent.destroyed || parent.isGone());
    }

    private Set<Lifetime> descendantsNewestFirst() {
        Set<Lifetime> found = new TreeSet<>(NEWEST_FIRST);
        var open = new ArrayList<Lifetime>(List.of(this));
        while (!open.isEmpty()) {
            Lifetime next = open.removeLast();
            List<Lifetime> below;
            synchronized (next.children) {
                below = List.copyOf(next.children);
            }
            for (Lifetime child : below) {
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
     * @param call gives the child's handle, or {@code -errno}
     * @param refusal makes the exception of an errno, which is positive
     * @throws IllegalStateException if a parent is closed
     */
    public static <T> T create(
            LongSupplier call, IntFunction<RuntimeException> refusal, LongFunction<T> wrap, Lifetime... parents) {
        enterAll(parents);
        try {
            long handle = call.getAsLong();
            if (handle < 0) {
                throw refusal.apply((int) -handle);
            }
            T made = wrap.apply(handle);
            DOOR.of(made).register();
            return made;
        } finally {
            exitAll(parents);
        }
    }

    /** Calls inside the guard and gives a result that isn't below zero; {@code refusal} as for {@link #create}. */
    public int call(IntSupplier call, IntFunction<RuntimeException> refusal) {
        enter();
        try {
            int result = call.getAsInt();
            if (result < 0) {
                throw refusal.apply(-result);
            }
            return result;
        } finally {
            exit();
        }
    }

    /** Enters beside others, for a call; allocates nothing. */
    public void enter() {
        if (!guard.enterShared()) {
            throw closed();
        }
    }

    /** Leaves after {@link #enter}. */
    public void exit() {
        guard.exitShared();
    }

    /** Enters all of them; leaves none entered if one is closed. */
    public static void enterAll(Lifetime... lifetimes) {
        for (int i = 0; i < lifetimes.length; i++) {
            try {
                lifetimes[i].enter();
            } catch (RuntimeException e) {
                exitFirst(i, lifetimes);
                throw e;
            }
        }
    }

    /** Leaves after {@link #enterAll}. */
    public static void exitAll(Lifetime... lifetimes) {
        exitFirst(lifetimes.length, lifetimes);
    }

    private static void exitFirst(int count, Lifetime... lifetimes) {
        for (int i = 0; i < count; i++) {
            lifetimes[i].exit();
        }
    }

    /** The exception for a use after close. */
    public IllegalStateException closed() {
        Throwable where = closedAt;
        String hint = where == null && !Traces.areOn() ? " (set -Dkverbs.diagnostics=true to see where)" : "";
        return new IllegalStateException(ending().describe().get() + " is closed" + hint, where);
    }

    /** Whose lifetime it is. */
    public Object resource() {
        return begun(resource);
    }

    private Ending ending() {
        return begun(ending);
    }

    private static <T> T begun(@Nullable T value) {
        if (value == null) {
            throw new IllegalStateException("a resource was used before it was made");
        }
        return value;
    }

    /** Where it was opened, if traces were on then. */
    public @Nullable Throwable openedAt() {
        return openedAt;
    }

    /** What this and then all that it was made from were opened for. */
    public List<Object> owners() {
        var owners = new ArrayList<Object>(2);
        if (owner != null) {
            owners.add(owner);
        }
        for (Lifetime parent : parents) {
            owners.addAll(parent.owners());
        }
        return owners;
    }
}
