/**
 * The door to the driver efa (the Elastic Fabric Adapter of Amazon EC2): calls of {@code libefa.so.1} that libibverbs
 * does not have. {@link org.kverbs.efa.Efa#of Efa.of} opens it for a context of {@code org.kverbs}; what it makes are
 * the queue pairs of {@code org.kverbs}.
 *
 * <pre>{@code
 * EfaDevice efa = Efa.of(context);
 * QueuePair srd = efa.srdQueuePair(pd, QueuePairInitAttributes.of(QueuePairType.DRIVER, cq));
 * efa.activate(srd, ConnectOptions.DEFAULTS);
 * srd.postWith(list -> list.send(1).from(slice).to(addressHandle, peerNumber, peerQkey).signaled());
 * }</pre>
 *
 * <p>No EFA device was at hand when this was written: the layouts are checked by the C compiler, and the calls, their
 * errors and the lifetimes by a library that stands in for libefa.
 */
@NullMarked
package org.kverbs.efa;

import org.jspecify.annotations.NullMarked;
