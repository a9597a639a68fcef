package org.kverbs;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.IntSupplier;
import java.util.function.LongFunction;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.HeldCalls;
import org.kverbs.internal.Lifetime;

/**
 * An object that must be closed: a device context, a connection event channel, or an object made from one of these.
 *
 * <p><b>Ownership.</b> A resource keeps its parents reachable. Closing a parent first closes every resource that was
 * made from it, newest first, but memory regions only after the queue pairs that can have posted them. So closing the
 * {@link Context} closes all. If several closes fail, the first exception is thrown and the others are its suppressed
 * exceptions.
 *
 * <p><b>Reachability.</b> Every open resource stays reachable, even if the program holds no reference to it, since the
 * device can use its memory at any time. A program that drops an open context without closing it leaks the context and
 * its resources.
 *
 * <p><b>Threads.</b> Any thread may call {@link #close}, any number of times. A second call waits until the first has
 * ended and then does nothing. Close wakes threads that wait for an event, and waits until all running calls on the
 * resource have returned. A call after close throws an {@link IllegalStateException} that names the resource; with
 * {@link Diagnostics} on, its cause shows where the resource was closed. A close does not wait for a block that is
 * writing a post to a queue pair. The post of that block then fails.
 *
 * <p><b>Errors.</b> If the device refuses to destroy the native object (EBUSY: code outside kverbs uses it), close
 * throws {@link RdmaSystemException}. The resource stays unusable, and close can be called again.
 *
 * <p>The kinds of resources are kverbs' own: a {@code Lifetime}, which the constructor takes, is not exported.
 */
public abstract class Resource implements AutoCloseable {

    static {
        Lifetime.DOOR.open(resource -> ((Resource) resource).lifetime);
    }

    final Lifetime lifetime;

    /** Constructor for the subclasses in kverbs. */
    @SuppressWarnings("exports") // code outside kverbs cannot get a lifetime
    protected Resource(Lifetime lifetime) {
        this.lifetime = lifetime;
    }

    /** Returns a description for messages: {@code queue pair 17 (RC) on rxe0}. */
    public abstract String describe();

    /** Returns whether this resource is open. It is false as soon as a close begins. */
    public final boolean isOpen() {
        return lifetime.isOpen();
    }

    /**
     * Closes every resource that was made from this one, newest first, and then this one. See the class for threads and
     * errors.
     */
    @Override
    public final void close() {
        lifetime.close();
    }

    /**
     * Runs an action when this resource is closed and its native object is destroyed. The closing thread runs it; if
     * the resource is already closed, the calling thread runs it at once. The close throws the exceptions of actions
     * after all of them have run. A layer above uses this to end its waits.
     *
     * <p>This resource keeps the action reachable until then. Run the result when the action is no longer
     * needed: an object with a shorter life than this resource does so at its own end.
     *
     * @return takes the action back, on any thread; does nothing if the close has begun to run the actions
     */
    public final Runnable whenClosed(Runnable action) {
        return lifetime.whenClosed(action);
    }

    /**
     * Runs an action during the close, when no thread can use this resource any more and before its native object is
     * destroyed. The closing thread runs it; if the resource is already closed, the calling thread runs it at once. The
     * close continues after an exception of an action and throws it at the end. The action must not wait for another
     * thread that closes this resource. A layer above uses this to revoke what it has made from this resource
     * elsewhere.
     */
    public final void beforeClosed(Runnable action) {
        lifetime.beforeClosed(action);
    }

    /**
     * Runs a call of the program's own on the C object of this resource, for what kverbs lacks: {@code struct ibv_qp *}
     * for a queue pair, {@code struct rdma_cm_id *} for a connection id. No close destroys the object during the call;
     * afterwards the pointer must not be used. What the call changes behind kverbs' back, such as the state of a queue
     * pair, kverbs does not learn.
     *
     * <p>The call runs beside kverbs' posts and polls by other threads, and a poll of its own takes completions from
     * kverbs. It must not wait for a thread that closes this resource or what it was made from: that close waits for
     * the call. A close by the call itself throws IllegalStateException and does nothing. What the call throws passes
     * through.
     *
     * <p>The pointer is one of libibverbs or librdmacm, which the program loads from the same file, and calls by {@code
     * java.lang.foreign.Linker}.
     *
     * @param call gets the pointer, a segment of length zero, and gives the result
     * @throws UnsupportedOperationException if the resource has no C object, as those of an embedded device have not
     * @throws IllegalStateException if the resource is closed
     */
    public final <T extends @Nullable Object> T callNative(Function<MemorySegment, T> call) {
        lifetime.enter();
        try {
            long address = nativeAddress();
            if (address == 0) {
                throw new UnsupportedOperationException(describe() + " has no C object; take a device of libibverbs,"
                        + " whose Device.provider() is \"native\"");
            }
            return HeldCalls.run(lifetime, () -> call.apply(MemorySegment.ofAddress(address)));
        } finally {
            lifetime.exit();
        }
    }

    /** Returns the address of the C object for {@link #callNative}; 0 if there is none. The guard is entered. */
    protected long nativeAddress() {
        return 0;
    }

    /**
     * Makes a child: enters the guards of the parents, makes the call, wraps the handle and registers the child.
     *
     * @throws IllegalStateException if a parent is closed
     * @throws RdmaSystemException if the device refuses
     */
    static <T extends Resource> T create(
            String operation, LongSupplier call, LongFunction<T> wrap, Resource... parents) {
        return create(operation, () -> "", call, wrap, parents);
    }

    /** Makes a child. After a refusal, {@code excess} names the exceeded limits: see {@link Excess}. */
    static <T extends Resource> T create(
            String operation, Supplier<String> excess, LongSupplier call, LongFunction<T> wrap, Resource... parents) {
        return create(errno -> SystemErrors.refused(operation, errno, excess), call, wrap, parents);
    }

    /** Makes a child. {@code refusal} makes the exception of an errno, which is positive. */
    static <T extends Resource> T create(
            IntFunction<RuntimeException> refusal, LongSupplier call, LongFunction<T> wrap, Resource... parents) {
        Lifetime[] lifetimes = Arrays.stream(parents).map(parent -> parent.lifetime).toArray(Lifetime[]::new);
        return Lifetime.create(call, refusal, wrap, lifetimes);
    }

    /**
     * Makes a call on this resource inside its guard and returns the result.
     *
     * @throws RdmaSystemException if the result is negative
     */
    final int command(String operation, IntSupplier call) {
        return command(operation, () -> "", call);
    }

    /**
     * Makes a call on this resource inside its guard. After a refusal, {@code excess} names the exceeded limits: see
     * {@link Excess}.
     */
    final int command(String operation, Supplier<String> excess, IntSupplier call) {
        return lifetime.call(call, errno -> SystemErrors.refused(operation, errno, excess));
    }

    /** Makes a call on this resource inside its guard. {@code refusal} makes the exception of an errno. */
    final int command(IntFunction<RuntimeException> refusal, IntSupplier call) {
        return lifetime.call(call, refusal);
    }

    /** Returns the exception for a use after close. */
    final IllegalStateException closed() {
        return lifetime.closed();
    }
}
