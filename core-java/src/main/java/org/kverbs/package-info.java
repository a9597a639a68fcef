/**
 * RDMA for Kotlin and Java: the objects of libibverbs, and the values that describe them.
 *
 * <p>Start with a device. Opening one gives a context, and everything else is made from it: a protection domain, in it
 * memory regions and queue pairs, beside it completion queues. A queue pair is moved through its states by a
 * {@link org.kverbs.QueuePairAttributes set of attributes}, and finds its peer by an
 * {@link org.kverbs.AddressAttributes address}. Work requests are posted to it, and each ends as a completion with a
 * {@link org.kverbs.WorkCompletionStatus status}.
 *
 * <p>Three habits hold in the whole package.
 *
 * <ul>
 *   <li>The values are immutable and may be shared among threads. Numbers are in the order of the machine, whatever the
 *       C structure or the wire has: a GUID and the halves of a {@link org.kverbs.Gid} read as the numbers that are
 *       printed.
 *   <li>An enum never hides what it does not know. A number without a name reads as {@code UNKNOWN}, and the holder of
 *       the value offers the raw number beside it; masks of flags are kept raw as well.
 *   <li>Errors are unchecked exceptions that name the operation, the value that was refused and what to do next. What
 *       the program got wrong before any device was asked is an {@link java.lang.IllegalArgumentException} or an
 *       {@link java.lang.IllegalStateException}; what the system or a device refused is an
 *       {@link org.kverbs.RdmaException}.
 * </ul>
 *
 * <p>Nothing here takes or gives null unless it is marked so.
 */
@NullMarked
package org.kverbs;

import org.jspecify.annotations.NullMarked;
