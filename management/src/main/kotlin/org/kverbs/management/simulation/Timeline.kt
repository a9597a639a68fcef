package org.kverbs.management.simulation

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.cancel
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlin.time.Duration

/** The time on the wires: what takes none happens at once, on the thread of the sender. */
internal class Timeline(
    scope: CoroutineScope,
) {
    private val own = CoroutineScope(scope.coroutineContext + SupervisorJob(scope.coroutineContext[Job]))

    fun after(
        time: Duration,
        action: () -> Unit,
    ) {
        if (time == Duration.ZERO) {
            action()
        } else {
            own.launch {
                delay(time)
                action()
            }
        }
    }

    fun close() = own.cancel()
}
