/**
 * RDMA for Kotlin and Java: the objects of libibverbs, and the work that is posted to them.
 *
 * <p>Start with a device. Opening one gives a context, and everything else is made from it: a protection domain, in it
 * memory regions and queue pairs, beside it completion queues. A queue pair is moved through its states by a {@link
 * org.kverbs.attributes.QueuePairAttributes set of attributes}, and finds its peer by an {@link
 * org.kverbs.attributes.AddressAttributes address}. Work requests are posted to it, and each ends as a completion with
 * a {@link org.kverbs.WorkCompletionStatus status}.
 *
 * <pre>
 *   Device                              what is there: list, byName, first
 *     open() -> Context                 queries, asynchronous events
 *                 |-> CompletionChannel       waiting for completions
 *                 |-> FlowCounters            what flow rules count
 *                 |-> ReceiveIndirectionTable work queues that a queue pair spreads frames over
 *                 |-> CompletionQueue         WorkCompletion(s), one for each request that ended
 *                 |-> DeviceMemory            memory of the device, if it has some
 *                 |-> ThreadDomain            for a parent domain: ProtectionDomain.parentDomain
 *                 |-> XrcDomain               XrcReceiveQueuePair
 *                 '-> ProtectionDomain
 *                       |-> MemoryRegion      MemorySlice (here), RemoteMemory (for the peer)
 *                       |-> MemoryWindow
 *                       |-> SharedReceiveQueue   &lt;- ReceiveRequests
 *                       |-> WorkQueue            &lt;- ReceiveRequests
 *                       |-> QueuePair            &lt;- SendRequests, ReceiveRequests
 *                       |     '-> Flow           which frames a raw packet queue pair receives
 *                       '-> AddressHandle
 *   Resource                            what all of these are: close, isOpen, what was made from what
 *   Diagnostics                         where open resources were opened
 *   RdmaException                       and what extends it: what a system, a device or a peer refused
 * </pre>
 *
 * <p>A class that makes objects refers to their class, and the objects refer to what they were made from. Such cycles
 * exist within this package, and none between packages. {@link org.kverbs.Resource} refers to none of its subclasses.
 *
 * <pre>
 *   org.kverbs.cm             connections by IP address
 *        |
 *        v
 *   org.kverbs  (this room)   objects, work, exceptions  &lt;--  org.kverbs.internal.ffm: libibverbs
 *        |                                                          |
 *        +--> org.kverbs.attributes   records and enums             |
 *        '--> org.kverbs.spi          the seam  &lt;-------------------'
 *
 *   below all of them, and nobody else's: org.kverbs.internal, .internal.memory, .internal.values, .internal.abi
 * </pre>
 *
 * <p>A provider is found by {@link java.util.ServiceLoader}, so that no arrow leads from here to one.
 *
 * <p>Three habits hold in all rooms.
 *
 * <ul>
 *   <li>The values are immutable and may be shared among threads. Numbers are in the order of the machine, whatever the
 *       C structure or the wire has: a GUID and the halves of a {@link org.kverbs.attributes.Gid} read as the numbers
 *       that are printed.
 *   <li>No value is lost. A number that an enum has no name for becomes {@code UNKNOWN}, and the holder of the value
 *       has a second getter for the number. Masks of flags also have a getter of their bits.
 *   <li>Errors are unchecked exceptions. Their messages name the operation, the refused value and what to do. A mistake
 *       of the program is reported by an {@link java.lang.IllegalArgumentException} or an {@link
 *       java.lang.IllegalStateException}, a refusal of the system or of a device by an {@link
 *       org.kverbs.RdmaException}.
 * </ul>
 *
 * <p>Parameters and results are never null unless they are marked {@code @Nullable}.
 */
@NullMarked
package org.kverbs;

import org.jspecify.annotations.NullMarked;
