/**
 * The classes that the packages of core-java share. They are not part of the public API.
 *
 * <pre>
 *   lives       Lifetime (with Guard and Traces): who was made from whom, who is inside, how it ends
 *   providers   Providers: those that ServiceLoader found
 *   work        WorkRequestArena, InlineArea, RequestLimits: work requests in native memory
 *   errors      ErrorAdvice, ConnectionAdvice, ErrnoNames, Refusal, QueuePairTransitions, MemlockLimit,
 *               DeviceNodes: what to say
 *   others      SocketAddresses, SysfsCounters
 * </pre>
 *
 * <pre>
 *   org.kverbs, org.kverbs.cm, org.kverbs.internal.ffm, embedded --> org.kverbs.internal
 *   org.kverbs.internal --> org.kverbs.attributes, org.kverbs.spi, .internal.memory, .internal.values, .internal.abi
 * </pre>
 *
 * <p>Nothing here knows a resource or a device by its class. Where another room has to come from one to its private
 * part, the class itself opens a {@link org.kverbs.internal.Door}.
 */
@NullMarked
package org.kverbs.internal;

import org.jspecify.annotations.NullMarked;
