/**
 * The one seam of kverbs: what a provider of RDMA devices implements.
 *
 * <p>Every call takes and gives the C structures of {@code <infiniband/verbs.h>} in native memory, so all code above
 * the seam is the same for a network card and for a device made in software. Objects are named by the address of their
 * C structure ({@code struct ibv_qp *} and so on), a positive {@code long}; the public fields of that structure
 * ({@code qp_num}, {@code lkey}, {@code rkey}, ...) are readable at that address for as long as the object lives.
 *
 * <p>The C library mixes three error conventions; the seam has one: a result below zero is {@code -errno}, and nothing
 * here throws for a refused call. Calls may come from any thread at once, as in libibverbs
 * ("{@code man 7 rdma_verbs}": the API is thread safe), but never for an object whose destruction has begun.
 *
 * <pre>
 *   VerbsProvider --> VerbsDevice --> VerbsOpenResult --> VerbsContext --> QueuePairOps, ReceiveOps, CompletionQueueOps
 *        '--> ConnectionManager
 *
 *   above the seam    org.kverbs, org.kverbs.cm: call it
 *   below the seam    org.kverbs.internal.ffm, org.kverbs.embedded: implement it
 *   it depends on nothing
 * </pre>
 */
@NullMarked
package org.kverbs.spi;

import org.jspecify.annotations.NullMarked;
