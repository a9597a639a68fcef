/**
 * The calls of the C library on an open device. {@link org.kverbs.embedded.internal.verbs.EmbeddedContext} and the
 * classes that implement groups of optional calls run each call by {@code DeviceCalls}, with the engine's lock held.
 * One class for each kind of object reads the C structures, makes the objects and finds them; {@code ContextObjects}
 * has them all. This package calls {@code transport} and {@code objects}. Only {@code EmbeddedDevice} calls this
 * package, through the provider's interface.
 *
 * <pre>
 *   EmbeddedContext -- Domains, MemoryVerbs, AddressVerbs, CompletionVerbs, SharedReceiveVerbs  --&gt; objects
 *                   -- EmbeddedOptionalMemory -- Advice  --&gt; objects
 *                   -- QueuePairVerbs  --&gt; transport
 *                   -- EmbeddedXrc: calls CompletionVerbs, SharedReceiveVerbs, QueuePairVerbs
 *                   -- LockedSteering -- SteeringVerbs, FlowReader  --&gt; transport
 *                   -- Queries (limits and addresses)
 * </pre>
 */
@NullMarked
package org.kverbs.embedded.internal.verbs;

import org.jspecify.annotations.NullMarked;
