/**
 * The network between the devices of one JVM. Each device has a {@code PacketPort} of {@link
 * org.kverbs.embedded.internal.network.InProcessNetwork}; with faults, packets travel on a {@code FaultyPath} from each
 * device to each other. This package calls {@code transport}, to hand packets to a device, and {@code objects}. {@code
 * EmbeddedFabric} calls this package, and {@code transport} calls it as a {@code PacketPort}. The package {@code udp}
 * is the counterpart for other processes and hosts.
 */
@NullMarked
package org.kverbs.embedded.internal.network;

import org.jspecify.annotations.NullMarked;
