/**
 * The door to the driver mlx5 (NVIDIA ConnectX and BlueField): calls of {@code libmlx5.so.1} that libibverbs does not
 * have. {@link org.kverbs.mlx5.Mlx5#of Mlx5.of} opens it for a context of {@code org.kverbs}; what it makes are the
 * queue pairs and completion queues of {@code org.kverbs}.
 *
 * <pre>{@code
 * Mlx5Device mlx5 = Mlx5.of(context);
 * QueuePair target = mlx5.dct(pd, QueuePairInitAttributes.of(QueuePairType.DRIVER, cq).with(srq), key);
 * mlx5.activateTarget(target, ConnectOptions.DEFAULTS);              // from here on target.number() is its number
 *
 * QueuePair initiator = mlx5.dciQueuePair(pd, QueuePairInitAttributes.of(QueuePairType.DRIVER, cq));
 * mlx5.activateInitiator(initiator, ConnectOptions.DEFAULTS);
 * initiator.postWith(list -> list.write(1, remote).from(slice).to(addressHandle, targetNumber, key).signaled());
 * }</pre>
 *
 * <p>No mlx5 device was at hand when this was written: the layouts are checked by the C compiler, and the calls, their
 * errors and the lifetimes by a library that stands in for libmlx5.
 */
@NullMarked
package org.kverbs.mlx5;

import org.jspecify.annotations.NullMarked;
