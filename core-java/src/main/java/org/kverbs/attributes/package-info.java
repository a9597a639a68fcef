/**
 * Values: what an object is asked for and what a device tells of itself. Records and enums, immutable, without a call
 * to any device.
 *
 * <pre>
 *   devices and ports   DeviceAttributes(Ex), DeviceCapability, NodeType, TransportType, AtomicCapability,
 *                       PortAttributes, PortCapability, PortState, LinkLayer, Mtu, Gid, GidEntry, GidType
 *   queue pairs         QueuePairType, QueuePairState, QueuePairCapabilities, QueuePairAttributes(Builder),
 *                       QueuePairAttribute, QueuePairTimers, MigrationState, SharedReceiveQueueAttributes
 *   peers               AddressAttributes(Builder), GlobalRoute, StaticRate, QueuePairEndpoint, ConnectOptions(Builder)
 *   flow rules          FlowType, FlowMatch: EthernetMatch, Ipv4Match, Ipv6Match, PortMatch, VxlanMatch; MacAddress;
 *                       FlowCounter
 *   work queues         WorkQueueState, WorkQueueFlag, RxHash, RxHashField
 *   memory, events      AccessFlag, MemoryWindowType, AsyncEventType
 * </pre>
 *
 * <p>Attributes that hold an object, such as the completion queues of a queue pair to be, stand beside that object in
 * {@link org.kverbs}.
 *
 * <pre>
 *   org.kverbs, .cm, .internal --> org.kverbs.attributes --> org.kverbs.internal.values, .internal.abi
 * </pre>
 */
@NullMarked
package org.kverbs.attributes;

import org.jspecify.annotations.NullMarked;
