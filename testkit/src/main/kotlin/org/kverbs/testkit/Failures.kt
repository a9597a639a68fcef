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
 * Lets the next call of an operation fail with an errno, or the [nth] call and [times] calls in a row.
 *
 * ```
 * connectedPair { client, server ->
 *     fabric.failNext(CREATE_QUEUE_PAIR, ENOMEM, on = server.context.device())
 *     shouldThrow<RdmaSystemException> { openSession(server) }.errnoName() shouldBe "ENOMEM"
 * }
 * ```
 *
 * @param on the only device that fails; without it any device of the fabric
 * @return counts the failures; closing it ends the injection
 * @throws IllegalArgumentException if the device is not of this fabric, or if [nth] or [times] is below 1
 */
public fun EmbeddedFabric.failNext(
    operation: Operation,
    errno: Errno,
    nth: Int = 1,
    times: Int = 1,
    on: Device? = null,
): Injection = inject(Failure.of(operation, errno).nth(nth).times(times), on)

/**
 * Lets the next work request with an opcode complete with an error status, or the [nth] request and [times] requests in
 * a row. A failed request moves its queue pair to the error state ([Failure.of]).
 *
 * @param on the only device that fails; without it any device of the fabric
 * @return counts the failures; closing it ends the injection
 * @throws IllegalArgumentException if the device is not of this fabric, if the status is SUCCESS, or if [nth] or
 *     [times] is below 1
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
