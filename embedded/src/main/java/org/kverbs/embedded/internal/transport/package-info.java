/**
 * The queue pairs of a device and what each packet does to them (IBA volume 1, chapter 9). This package calls
 * {@code objects}, {@code wire}, {@code engine} and {@code watch}. {@code verbs} (posts, changes of state),
 * {@code network} and {@code udp} (arriving packets) and {@code cm} (management datagrams) call this package.
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
 * <p>The parts of a {@code Qp}: {@code Posts} takes the program's requests, {@code Arrivals} checks packets and gives
 * them to a side, {@code ReceiveSide} takes and completes receives, and {@code QpHandles} tells the contexts. The
 * {@code Responder} has a {@code TakenReceive} and a {@code WriteTarget}, of the current message.
 *
 * <p>Ethernet frames take a way of their own: {@code Frames} of a raw packet queue pair sends them, and {@code
 * Hca.takeFrame} gives an arriving one to {@code Steering}, which finds the queue pairs by their {@code FlowRule}s. A
 * queue pair with an indirection table has no {@code Frames}: its {@code Spread} hashes a frame and gives it to a
 * {@code Wq} of the {@code WqTable}.
 *
 * <h2>The cursors of a send queue</h2>
 *
 * One class writes each cursor; the others read it.
 *
 * <pre>
 *   SendQueue, by request:
 *
 *      head            cursor             first not started         size
 *       | done, or       | started: sent     | has no PSN yet         |
 *       | sent to its    | in part, or to    |                        |
 *       | end            | be sent again     |                        |
 *
 *   by PSN (modulo 2^24):
 *
 *      unacknowledged       the next to send        sentEnd        nextPsn
 *            |------------------------|----------------|--------------|
 *              the peer may have it     sent before,     given to a
 *                                       to be sent again request, never sent
 * </pre>
 *
 * <table>
 * <caption>Owners and invariants</caption>
 * <tr><th>cursor</th><th>owner</th><th>invariant</th></tr>
 * <tr><td>{@code cursor}</td><td>SendQueue</td>
 *     <td>0 &lt;= cursor &lt;= size; each request before it was sent to its end or is done</td></tr>
 * <tr><td>{@code nextPsn}</td><td>Requester</td><td>the first PSN that no request has; only grows</td></tr>
 * <tr><td>{@code sentEnd}</td><td>Requester</td>
 *     <td>sentEnd &lt;= nextPsn; only grows, also when all is sent again</td></tr>
 * <tr><td>{@code SendWqe.started, firstPsn, psns}</td><td>Requester (Datagrams on UD)</td>
 *     <td>those that are started stand before those that aren't, and their PSNs follow each other without a
 *     gap</td></tr>
 * <tr><td>{@code SendWqe.sent}</td><td>Requester</td>
 *     <td>0 &lt;= sent &lt;= psns; goes back in {@code goBack} and {@code askAgain} alone; an acknowledgement of more
 *     than that (of packets that were taken back) moves it on</td></tr>
 * <tr><td>{@code onTheWay}</td><td>Requester</td>
 *     <td>0 while nothing waits for an acknowledgement; its sum over the queue pairs to a peer is the one of
 *     PeerWindow</td></tr>
 * <tr><td>{@code lastIsAnswered}</td><td>Requester</td>
 *     <td>true wherever it stops at a closed window, a failed request or a request that SQD holds back</td></tr>
 * <tr><td>{@code rests}</td><td>Requester, AnswerQueue</td>
 *     <td>true from the end of a step until the engine runs the next; then its task is queued once</td></tr>
 * <tr><td>{@code unacknowledged}</td><td>Completer</td><td>unacknowledged &lt;= sentEnd; only grows</td></tr>
 * <tr><td>{@code SendWqe.received}</td><td>Completer</td>
 *     <td>of reads and atomics: received &lt;= sent; only grows; else 0</td></tr>
 * <tr><td>{@code SendWqe.done, status}</td><td>Completer</td>
 *     <td>what is done at the head completes at once; nothing after a failure is sent</td></tr>
 * <tr><td>{@code wentBack}</td><td>Completer</td>
 *     <td>true from a {@code goBack} for a loss until unacknowledged grows</td></tr>
 * <tr><td>{@code isHeldBack}</td><td>Completer</td>
 *     <td>true from an RNR NAK until its timer runs out; the timer is set as long</td></tr>
 * <tr><td>{@code expectedPsn}</td><td>Responder</td><td>the PSN of the peer's next request; only grows</td></tr>
 * </table>
 *
 * <p>The states of a reliable queue pair as a sender, within RTS and SQD:
 *
 * <pre>
 *              something to send                         all acknowledged
 *   quiet ----------------------------&gt; waiting ------------------------------&gt; quiet
 *                                       |  ^  |
 *            NAK of sequence, a gap     |  |  |  RNR NAK: all from unacknowledged
 *            in the answers, a timeout: |  |  |  on is to be sent again
 *            goBack                     v  |  v
 *                               went back  |  held back -- its timer runs out --&gt; waiting
 *                                 |  |     |
 *        a second hint at the     |  +-----+ progress: unacknowledged grows, all retries are there again
 *        same loss: nothing       |
 *                                 +--- a timeout with no retry left, a NAK that refuses: a request fails --&gt; ERR
 * </pre>
 *
 * <p>The engine's lock guards everything in this package. It is released for one thing: an {@code EarlyCopy} moves the
 * payload of a long write, send or read before its packet is sent. And while no thread has the lock, a {@code
 * DirectPath} carries out a short write or send with both queue pairs locked: what it calls must touch nothing but
 * these two, and look up without the caches of {@code IntMap.get}. {@code Qp} and its parts know each other: a cycle
 * within the package, since the parts of a queue pair are made and end with it.
 */
@NullMarked
package org.kverbs.embedded.internal.transport;

import org.jspecify.annotations.NullMarked;
