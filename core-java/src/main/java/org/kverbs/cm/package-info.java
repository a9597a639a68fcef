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
 *     '-> addressInfo(AddressHints) -> AddressInfo    names to addresses; AddressLookup does it with an event
 *
 *   SynchronousConnectionId      an id whose calls wait for their event
 *     '-> ConnectionEndpoint     with a queue pair, completion queues and helpers to post and wait (EndpointOptions)
 *           '- ConnectionListener    makes an endpoint of each request
 * </pre>
 *
 * <p>A connection id and a queue pair are two things: the id goes through the steps, and {@link
 * org.kverbs.cm.ConnectionId#prepare} moves the queue pair along. A program that connects without IP addresses does not
 * need this package: it uses {@link org.kverbs.QueuePair#connect}.
 *
 * <p>These are the steps of both sides of a connection:
 * <pre>{@code
 * // the connecting side                               // the listening side
 *                                                      id.bind(port); id.listen(backlog)
 * id.resolveAddress(address, timeout)
 *   -> ADDR_RESOLVED
 * id.resolveRoute(timeout)
 *   -> ROUTE_RESOLVED
 * id.prepare(qp, INIT); qp.postReceive(...)
 * id.connect(qp, parameters)
 *                                                        -> CONNECT_REQUEST with id
 *                                                      id.prepare(qp, INIT); qp.postReceive(...)
 *                                                      id.prepare(qp, RTR); id.prepare(qp, RTS)
 *                                                      id.accept(qp, parameters)
 *   -> CONNECT_RESPONSE (not on iWARP)
 * id.prepare(qp, RTR); id.prepare(qp, RTS)
 * id.establish()
 *   -> ESTABLISHED (on iWARP alone)                      -> ESTABLISHED
 * }</pre>
 *
 * <pre>
 *   org.kverbs.cm --> org.kverbs, org.kverbs.attributes, org.kverbs.spi, org.kverbs.internal and below
 *   nothing in core-java --> org.kverbs.cm
 * </pre>
 */
@NullMarked
package org.kverbs.cm;

import org.jspecify.annotations.NullMarked;
