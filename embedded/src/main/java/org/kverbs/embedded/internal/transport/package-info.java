/**
 * The queue pairs of a device and what each packet does to them (IBA volume 1, chapter 9). Knows {@code objects}, {@code wire}, {@code
 * engine} and {@code watch}; is called by {@code verbs} (posts, changes of state), by {@code network} and {@code udp} (a packet came) and
 * by {@code cm} (management datagrams).
 *
 * <pre>
 *   postSend                                   Hca.take: a packet came
 *      |                                  /         |              \
 *   SendQueue                          Gsi       Multicast          Qp
 *      |                                            \      /     |       \
 *   Requester  &lt;-- goes back --  Completer    Datagrams    Completer   Responder
 *      |  sends requests             takes ACK, NAK and    (if it is    |  takes requests
 *      |  as PeerWindow allows        data of answers        an answer)  Answers, AnswerQueue
 *      v                                                                v  send ACK, NAK and data
 *   PacketPort                                                       PacketPort
 * </pre>
 *
 * <p>Everything in here belongs to the engine's lock. {@code Qp} holds the parts together, so they know it and it knows them: within the
 * room that is a circle, and the parts of a queue pair are made and end with it.
 */
@NullMarked
package org.kverbs.embedded.internal.transport;

import org.jspecify.annotations.NullMarked;
