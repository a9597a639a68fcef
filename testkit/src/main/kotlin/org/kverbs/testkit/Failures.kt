@file:JvmMultifileClass
@file:JvmName("Testkit")

package org.kverbs.testkit

import org.kverbs.Device
import org.kverbs.WorkCompletionOpcode
import org.kverbs.WorkCompletionStatus
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.embedded.Errno
import org.kverbs.embedded.Failure
import org.kverbs.embedded.Injection
import org.kverbs.embedded.Operation

/**
 * Has the next call of a kind refused with an errno, or the [nth] and as many as [times] in a row.
 *
 * ```
 * connectedPair { client, server ->
 *     fabric.failNext(CREATE_QUEUE_PAIR, ENOMEM, on = server.context.device())
 *     shouldThrow<RdmaSystemException> { openSession(server) }.errnoName() shouldBe "ENOMEM"
 * }
 * ```
 *
 * @param on the only device that it happens on; without it whatever device of the fabric it is
 * @return says how often it happened; closing it ends it
 * @throws IllegalArgumentException if the device is not of this fabric, or [nth] or [times] is below 1
 */
public fun EmbeddedFabric.failNext(
    operation: Operation,
    errno: Errno,
    nth: Int = 1,
    times: Int = 1,
    on: Device? = null,
): Injection = inject(Failure.of(operation, errno).nth(nth).times(times), on)

/**
 * Has the next work request of a kind complete with a status that is no success, or the [nth] and as many as [times]
 * in a row; it takes its queue pair to the error state ([Failure.of]).
 *
 * @param on the only device that it happens on; without it whatever device of the fabric it is
 * @return says how often it happened; closing it ends it
 * @throws IllegalArgumentException if the device is not of this fabric, the status is SUCCESS, or [nth] or [times] is
 *     below 1
 */
public fun EmbeddedFabric.failNext(
    opcode: WorkCompletionOpcode,
    status: WorkCompletionStatus,
    nth: Int = 1,
    times: Int = 1,
    on: Device? = null,
): Injection = inject(Failure.of(opcode, status).nth(nth).times(times), on)

private fun EmbeddedFabric.inject(
    failure: Failure,
    on: Device?,
): Injection = if (on == null) inject(failure) else inject(on, failure)
