package org.kverbs.dsl

import org.kverbs.MemorySlice
import org.kverbs.SharedReceiveQueue
import org.kverbs.TagList

/**
 * Returns the list of tags of a queue that was made with `tags(...)`.
 *
 * @throws IllegalStateException for any other queue
 */
public fun SharedReceiveQueue.tagList(): TagList =
    checkNotNull(tags()) { "the ${describe()} matches no tags: make it by pd.srq { tags(16, cq) }" }

/**
 * Adds a buffer for the next message with a tag: `tags.add(0x2a, into = region[0, 64], id = 7)`; errors as
 * [TagList.add].
 *
 * @param mask the bits of the tag that are compared; default all
 * @param id the id of the completion of the receive
 * @return the handle of the entry, for [TagList.remove]
 */
public fun TagList.add(
    tag: Long,
    into: MemorySlice,
    mask: Long = -1,
    id: Long = 0,
): Int = add(id, tag, mask, into)

/** Adds a buffer, with a completion `TM_ADD` of the id [operation]; otherwise as [add]. */
public fun TagList.addSignaled(
    tag: Long,
    into: MemorySlice,
    mask: Long = -1,
    id: Long = 0,
    operation: Long = 0,
): Int = addSignaled(operation, id, tag, mask, into)
