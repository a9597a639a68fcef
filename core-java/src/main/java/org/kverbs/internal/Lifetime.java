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
     * The turn of a lifetime when a parent closes: first all users, newest first, then the memory, then the resources
     * that queues and memory are made from.
     */
    public enum Turn {
        /** A resource that can use memory and queues. */
        USERS,
        /** Memory that users can use. */
        MEMORY,
        /** A resource that users or memory are made from. */
        FOUNDATIONS
    }

    /**
     * The actions that end a kind of resource.
     *
     * @param describe names the resource for messages
     * @param quiesce closes the data path to new calls and waits until all running ones have left; throws if the
     *     calling thread is itself in the data path
     * @param wake ends the waits of other threads inside the guard; the native object still exists
     * @param destroy destroys the native object, or throws if the device refuses
     */
    public record Ending(Supplier<String> describe, Runnable quiesce, Runnable wake, Runnable destroy) {

        /** Returns the actions of a kind that has no data path and no waiting threads. */
        public static Ending of(Supplier<String> describe, Runnable destroy) {
            return new Ending(describe, () -> {}, () -> {}, destroy);
        }

        /** Returns a copy for a kind with a data path. */
        public Ending quiescing(Runnable quiesce) {
            return new Ending(describe, quiesce, wake, destroy);
        }

        /** Returns a copy for a kind on which threads wait. */
        public Ending waking(Runnable wake) {
            return new Ending(describe, quiesce, wake, destroy);
        }
    }

    private static final AtomicLong SEQUENCE = new AtomicLong();
    /** Open lifetimes without a parent. They keep every other open lifetime reachable. */
    private static final Set<Lifetime> ROOTS = ConcurrentHashMap.newKeySet();

    private static final Comparator<Lifetime> NEWEST_FIRST =
            Comparator.comparing((Lifetime l) -> l.turn)
                    .thenComparing(Comparator.comparingLong((Lifetime l) -> l.sequence).reversed());

    /** Leads from a {@code org.kverbs.Resource} to its lifetime. */
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
    /** The owner at the time of opening; null if traces were off or no owner was set. */
    private final @Nullable Object owner = openedAt == null ? null : Traces.owner();

    private volatile @Nullable Throwable closedAt;
    private final Actions beforeClosed = new Actions();
    private final Actions whenClosed = new Actions();

    /**
     * Makes a lifetime that is not registered yet.
     *
     * @param parents the lifetimes of the resources that this one is made from; the creating method has entered the
     *     guard of each, so that none can be closed before the child is registered
     */
    public Lifetime(Turn turn, Lifetime... parents) {
        this.turn = turn;
        this.parents = List.of(parents);
    }

    /** Sets the resource and the actions that end it. The constructor of the resource calls this last. */
    public void begin(Object resource, Ending ending) {
        this.resource = resource;
        this.ending = ending;
    }

    /**
     * Adds this resource to its parents. This is the last step of a creation, so that no parent closes a half-made
     * child.
     */
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

    /** Moves this resource from its only parent to another one. The caller has entered the guards of all three. */
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

    /** Returns whether this resource is open. It is false as soon as a close begins. */
    public boolean isOpen() {
        return !guard.isClosing();
    }

    boolean isWithin(Lifetime ancestor) {
        return this == ancestor || parents.stream().anyMatch(parent -> parent.isWithin(ancestor));
    }

    String describe() {
        return ending().describe().get();
    }

    /** Closes everything that was made from it, newest first, and then the resource itself. */
    public void close() {
        HeldCalls.refuseClose(this);
        var failures = new ArrayList<Throwable>();
        drain(); // after this, no child can be made
        for (Lifetime descendant : descendantsNewestFirst()) {
            descendant.closeAlone(failures);
        }
        closeAlone(failures);
        if (!failures.isEmpty()) {
            Throwable first = failures.removeFirst();
            failures.stream().filter(each -> each != first).forEach(first::addSuppressed);
            Lifetime.<RuntimeException>raise(first);
        }
    }

    /** Throws a failure of any kind as an unchecked one: an action in Kotlin can throw checked exceptions. */
    @SuppressWarnings("unchecked")
    private static <T extends Throwable> void raise(Throwable failure) throws T {
        throw (T) failure;
    }

    /**
     * Runs an action once the native object is destroyed; at once if that has been already.
     *
     * @return takes the action back
     */
    public Runnable whenClosed(Runnable action) {
        return whenClosed.add(action);
    }

    /** Runs an action when no thread can use the resource any more, before its native object is destroyed. */
    public void beforeClosed(Runnable action) {
        beforeClosed.add(action);
    }

    private static void run(Actions actions, List<Throwable> failures) {
        for (Runnable action : actions.takeAll()) {
            try {
                action.run();
            } catch (Throwable e) { // an error, too, must not end the other actions
                failures.add(e);
            }
        }
    }

    private void drain() {
        ending().quiesce().run();
        guard.beginClose();
        synchronized (closeLock) {
            if (!destroyed && !isGone()) { // afterwards another object can have its address
                ending().wake().run();
            }
        }
        guard.awaitDrained();
    }

    private void closeAlone(List<Throwable> failures) {
        try {
            drain();
            synchronized (closeLock) {
                if (destroyed) {
                    return;
                }
                run(beforeClosed, failures); // under the lock, so that a second close waits for them
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
            run(whenClosed, failures);
        } catch (Throwable e) {
            failures.add(e);
        }
    }

    /**
     * Returns whether the device was closed after it had refused to destroy this object. Closing the device destroyed
     * the object too.
     */
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
                    child.drain(); // after this, no resource can be added below it, so one look is enough
                    open.add(child);
                }
            }
        }
        return found;
    }

    /**
     * Makes a child: enters the guards of the parents, makes the call, wraps the handle and registers the child.
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

    /**
     * Makes a call inside the guard and returns its result, which is not negative; {@code refusal} as for {@link
     * #create}.
     */
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
            } catch (Throwable e) {
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

    /** Returns the exception for a use after close. */
    public IllegalStateException closed() {
        Throwable where = closedAt;
        String hint = where == null && !Traces.areOn() ? " (set -Dkverbs.diagnostics=true to see where)" : "";
        return new IllegalStateException(describe() + " is closed" + hint, where);
    }

    /** Returns the resource of this lifetime. */
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

    /** Returns the stack trace of the opening; null if traces were off. */
    public @Nullable Throwable openedAt() {
        return openedAt;
    }

    /** Returns the owners of this resource and of all that it was made from. */
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
