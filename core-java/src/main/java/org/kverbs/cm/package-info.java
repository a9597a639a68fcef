/**
 * Connections by IP address: what librdmacm offers ({@code man 7 rdma_cm}), on every provider that has a connection
 * manager.
 *
 * <pre>
 *   ConnectionEventChannel     events of all its ids, one at a time
 *     |-> id(PortSpace) -> ConnectionId      bind, listen | resolve, connect | accept, reject | disconnect, multicast
 *     |                      |- ConnectionParameters   what a request or an answer carries along
 *     |                      '- ConnectionIdOptions    Ece and others, to be set before a step
 *     |-> awaitEvent() -> ConnectionEvent    of a ConnectionEventType; orThrow() makes an exception of an error:
 *     |                      ConnectionException, ConnectionTimeoutException,
 *     |                      ConnectionRejectedException (RejectReason)
 *     '-> addressInfo(AddressHints) -> AddressInfo    names to addresses
 * </pre>
 *
 * <p>A connection id and a queue pair are two things: the id goes through the steps, and {@link
 * org.kverbs.cm.ConnectionId#prepare} moves the queue pair along. A program that connects without IP addresses does not
 * need this package: it uses {@link org.kverbs.QueuePair#connect}.
 *
 * <pre>
 *   org.kverbs.cm --> org.kverbs, org.kverbs.attributes, org.kverbs.spi, org.kverbs.internal and below
 *   nothing in core-java --> org.kverbs.cm
 * </pre>
 */
@NullMarked
package org.kverbs.cm;

import org.jspecify.annotations.NullMarked;
