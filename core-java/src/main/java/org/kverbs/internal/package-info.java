/**
 * The classes that the packages of core-java share. They are not part of the public API.
 *
 * <pre>
 *   lives       Lifetime (with Guard, Bias, ProcessFence and Traces): which resource was made from
 *               which, and how each is closed
 *   providers   Providers: those that ServiceLoader found
 *   work        WorkRequestArena, SingleSend, SingleReceive, InlineArea, RequestLimits, DriverAddress:
 *               work requests in native memory
 *   errors      ErrorAdvice, ConnectionAdvice, ErrnoNames, Refusal, QueuePairTransitions, MemlockLimit,
 *               DeviceNodes: the sentences of error messages
 *   others      SocketAddresses, SysfsCounters
 * </pre>
 *
 * <pre>
 *   org.kverbs, org.kverbs.cm, org.kverbs.internal.ffm, embedded --> org.kverbs.internal
 *   org.kverbs.internal --> org.kverbs.attributes, org.kverbs.spi, .internal.memory, .internal.values, .internal.abi
 * </pre>
 *
 * <p>No class of this package refers to a resource or a device by its class. If another package needs the private part
 * of one, the class itself opens a {@link org.kverbs.internal.Door}.
 */
@NullMarked
package org.kverbs.internal;

import org.jspecify.annotations.NullMarked;
