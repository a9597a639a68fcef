/**
 * The objects of a device and the tables in which they stand: protection domains, memory regions and windows with their
 * keys, completion queues, shared receive queues, address handles, queues of receives, channels of events, and {@link
 * org.kverbs.embedded.internal.objects.PacketPort the port} through which packets leave. Nothing in here knows a queue
 * pair; a key that is used by one knows it as a {@link org.kverbs.embedded.internal.objects.KeyUser},
 * and a completion queue as a {@link
 * org.kverbs.embedded.internal.objects.CompletionUser}. {@link org.kverbs.embedded.internal.objects.DeviceState}
 * refuses calls where a {@link org.kverbs.embedded.internal.objects.Quota} is used up or a test wants it
 * ({@link org.kverbs.embedded.internal.objects.Failures}); {@link org.kverbs.embedded.internal.objects.Occupancy} says
 * when the slot of a request is free again.
 *
 * <p>The rooms of the device, and who may call whom. Every arrow goes down, and no room knows one above it:
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
 * <p>A packet comes from below nevertheless: {@code network} or {@code udp} hands it to {@code Hca.take} of {@code
 * transport}, and what {@code transport} sends goes to the {@code PacketPort} of this room, which {@code network} and
 * {@code udp} implement.
 */
@NullMarked
package org.kverbs.embedded.internal.objects;

import org.jspecify.annotations.NullMarked;
