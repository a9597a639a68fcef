/**
 * The objects of a device and the tables that hold them: protection domains, memory regions and windows with their
 * keys, completion queues, shared receive queues, XRC domains, address handles, queues of receives, channels of events,
 * and {@link org.kverbs.embedded.internal.objects.PacketPort the port} through which packets leave. This package does
 * not know queue pairs. To a memory key, a queue pair or a shared receive queue of XRC is a {@link
 * org.kverbs.embedded.internal.objects.KeyUser}; to a completion queue, it is a {@link
 * org.kverbs.embedded.internal.objects.CompletionUser}. {@link
 * org.kverbs.embedded.internal.objects.DeviceState} refuses calls if a {@link
 * org.kverbs.embedded.internal.objects.Quota} is used up or a test injected a failure ({@link
 * org.kverbs.embedded.internal.objects.Failures}). A region that is paged on demand has a {@link
 * org.kverbs.embedded.internal.objects.PageTable}, which asks the {@link
 * org.kverbs.embedded.internal.objects.AddressSpace} whether pages are mapped. {@link
 * org.kverbs.embedded.internal.objects.Occupancy} decides when the slot of a request is free again. Threads that poll
 * take completions out of a {@link org.kverbs.embedded.internal.objects.CompletionRing} without the engine's lock.
 *
 * <p>The packages of the device. Every arrow goes down; no package knows one above it:
 *
 * <pre>
 *                EmbeddedFabric, Configuration
 *               /        |         |          \
 *          verbs         cm     network       udp
 *               \        |         |          /
 *                       transport
 *                           |
 *                        objects
 *                     /     |     \
 *                 watch    wire    engine
 * </pre>
 *
 * <p>Packets nevertheless come from below: {@code network} or {@code udp} hands an arriving packet to {@code Hca.take}
 * of {@code transport}. The packets that {@code transport} sends go to the {@code PacketPort} of this package, which
 * {@code network} and {@code udp} implement.
 */
@NullMarked
package org.kverbs.embedded.internal.objects;

import org.jspecify.annotations.NullMarked;
