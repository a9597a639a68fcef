/**
 * The interfaces that a provider of RDMA devices implements. All access to devices goes through this package.
 *
 * <p>Every call takes and returns the C structures of {@code <infiniband/verbs.h>} in native memory, so all code above
 * this package is the same for a network card and for a device in software. A call names an object by the address of
 * its C structure ({@code struct ibv_qp *} and so on), a positive {@code long}. The public fields of that structure
 * ({@code qp_num}, {@code lkey}, {@code rkey}, ...) can be read at that address as long as the object exists.
 *
 * <p>The C library has three error conventions; this package has one: a negative result is {@code -errno}, and a
 * refused call throws no exception. Any thread may call, as in libibverbs ({@code man 7 rdma_verbs}), but no thread
 * calls on an object whose destruction has begun.
 *
 * <pre>
 *   VerbsProvider --> VerbsDevice --> VerbsOpenResult --> VerbsContext --> QueuePairOps, ReceiveOps, CompletionQueueOps
 *        |                                      '--> ClockVerbs, CounterVerbs, DomainVerbs, DriverVerbs, EceVerbs,
 *        |                                           FlowVerbs, OptionalMemoryVerbs, PacingVerbs, PortVerbs,
 *        |                                           WorkQueueVerbs, XrcVerbs
 *        '--> ConnectionManager, DriverLibrary
 *
 *   above the seam    org.kverbs, org.kverbs.cm: call it
 *   below the seam    org.kverbs.internal.ffm, org.kverbs.embedded: implement it
 *   beside the seam   org.kverbs.mlx5, org.kverbs.efa: implement DriverObjects, call DriverLibrary
 *   it depends on nothing
 * </pre>
 */
@NullMarked
package org.kverbs.spi;

import org.jspecify.annotations.NullMarked;
