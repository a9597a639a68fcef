/**
 * The network between the devices of one JVM. Each device has a {@code PacketPort} of {@link
 * org.kverbs.embedded.internal.network.InProcessNetwork}; with faults set, packets travel on a {@code FaultyPath} from
 * each device to each. Knows {@code transport} (to hand packets to a device) and {@code objects}; is called by {@code
 * EmbeddedFabric}, and by {@code transport} as a {@code PacketPort}. Its counterpart for other processes and hosts is
 * {@code udp}.
 */
@NullMarked
package org.kverbs.embedded.internal.network;

import org.jspecify.annotations.NullMarked;
