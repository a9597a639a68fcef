package org.kverbs.dsl

import org.kverbs.MemorySlice
import java.lang.foreign.MemorySegment

// Sends that the device cuts into TCP segments, on a queue pair with `maxTsoHeader`. `header` is the headers of the
// first segment up to and with TCP, which the call copies. `segmentSize` is the TCP payload of each segment but the
// last. See [org.kverbs.SendRequests.sendSegmented].

/** Sends Ethernet frames with the segments of [payload], on a queue pair of type RAW_PACKET. */
public fun SendScope<AnyVerbs>.sendSegmented(
    header: MemorySegment,
    payload: MemorySlice,
    segmentSize: Int,
    id: Long = 0,
): SendRequest<AnyVerbs> = begun(requests.sendSegmented(id, header, segmentSize).from(payload))

/** Sends datagrams with the segments of [payload]; each with its header is at most an MTU long. */
public fun <V : DatagramVerbs> SendScope<V>.sendSegmented(
    header: MemorySegment,
    payload: MemorySlice,
    segmentSize: Int,
    to: Destination,
    id: Long = 0,
): SendRequest<V> =
    begun(requests.sendSegmented(id, header, segmentSize).from(payload).to(to.address, to.queuePairNumber, to.qkey))
