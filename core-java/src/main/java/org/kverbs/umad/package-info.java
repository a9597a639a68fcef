/**
 * Management datagrams through the kernel: what libibumad offers ({@code man 3 umad_init}). A program that wants
 * attributes of a fabric uses the module kverbs-management, which stands on this package.
 *
 * <pre>
 *   UmadPort                 a port, by device and number
 *     |-> register(UmadAgent)                a class of datagrams to ask with, or to answer
 *     |-> send(agent, UmadAddress, bytes)
 *     '-> receive() -> UmadMessage           an answer, a request, or an own request that came to nothing
 *   SubnetManagerBit         says that a subnet manager runs at a port
 * </pre>
 *
 * <pre>
 *   org.kverbs.umad --> org.kverbs, org.kverbs.attributes, org.kverbs.spi, org.kverbs.internal and below
 *   nothing in core-java --> org.kverbs.umad
 * </pre>
 */
@NullMarked
package org.kverbs.umad;

import org.jspecify.annotations.NullMarked;
