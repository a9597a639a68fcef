package org.kverbs.coroutines

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeLessThanOrEqual
import kotlinx.coroutines.CoroutineStart.UNDISPATCHED
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.flow.collect
import kotlinx.coroutines.launch
import org.kverbs.CompletionQueueAttributes
import org.kverbs.dsl.KiB
import org.kverbs.dsl.openDevice
import java.lang.ref.WeakReference

/** Tests that a resource forgets what has used it for a while. */
class LongLivedParentSpec :
    FunSpec({
        timeout = 60_000

        test("should leave nothing of 10,000 pools at their protection domain after their close") {
            openDevice("embedded0").use { device ->
                val pd = device.protectionDomain()
                val pools =
                    List(10_000) {
                        val pool =
                            pd.bufferPool {
                                maxBytes(4.KiB)
                                minBufferSize(4.KiB)
                                maxBufferSize(4.KiB)
                                slabSize(4.KiB)
                            }
                        pool.tryTake(4096)!!.close()
                        pool.close()
                        WeakReference(pool)
                    }
                pools.shouldBeCollected()
                pd.isOpen // the domain was reachable so far
            }
        }

        test("should leave nothing of 10,000 flows of completions at their queue after their collectors have ended") {
            openDevice("embedded0").use { device ->
                val dispatcher = device.completionDispatcher()
                val cq = device.completionQueue(CompletionQueueAttributes.of(16, dispatcher.channel))
                val flows =
                    List(10_000) {
                        val flow = dispatcher.completions(cq)
                        if (it % 100 == 0) {
                            coroutineScope { launch(start = UNDISPATCHED) { flow.collect() }.cancelAndJoin() }
                        }
                        WeakReference(flow)
                    }
                flows.shouldBeCollected()
                cq.isOpen
            }
        }
    })

/** Fails if more than the last few of them stay, which a stack frame can still hold. */
private fun List<WeakReference<*>>.shouldBeCollected() {
    repeat(5) {
        System.gc()
        Thread.sleep(10)
    }
    count { it.get() != null } shouldBeLessThanOrEqual 2
}
