package org.kverbs.embedded

import com.sun.management.ThreadMXBean
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.longs.shouldBeLessThan
import org.kverbs.Device
import java.lang.management.ManagementFactory

private const val READS = 100_000

/** Checks that a program can read a completion counter all the time. */
class CounterCostSpec :
    FunSpec({
        test("should allocate nothing when a completion counter is read") {
            val threads = ManagementFactory.getThreadMXBean() as ThreadMXBean
            Device.byName("embedded0").open().use { context ->
                val counter = context.completionCounter()
                var bytes = 0L
                for (round in 1..20) {
                    val before = threads.currentThreadAllocatedBytes
                    var sum = 0L
                    for (i in 0 until READS) sum += counter.read() + counter.readErrors()
                    bytes = threads.currentThreadAllocatedBytes - before
                    check(sum == 0L)
                    if (bytes == 0L) break
                }
                bytes shouldBeLessThan READS.toLong()
            }
        }
    })
