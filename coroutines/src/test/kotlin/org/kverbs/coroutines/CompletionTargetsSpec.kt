package org.kverbs.coroutines

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.shouldNotBe
import org.kverbs.QueuePairInitAttributes
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletions
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType
import org.kverbs.dsl.modify
import org.kverbs.dsl.openDevice

class CompletionTargetsSpec :
    FunSpec({
        class Heard : CompletionTarget {
            val requests = ArrayList<Int>()

            override fun complete(
                request: Int,
                completion: WorkCompletion,
            ) {
                requests.add(request)
            }

            override fun fail(cause: Throwable) = Unit
        }

        /** The completion of a flushed receive with this id. */
        fun completion(
            key: Int,
            request: Int,
        ): WorkCompletion =
            openDevice("embedded0").use { device ->
                val cq = device.completionQueue(1)
                val qp = device.protectionDomain().queuePair(QueuePairInitAttributes.of(QueuePairType.RC, cq))
                qp.connect(qp.endpoint())
                qp.postReceive(key.toLong() shl 32 or request.toLong(), Completions.memory)
                qp.modify { state(QueuePairState.ERR) }
                val batch = WorkCompletions(1)
                while (cq.poll(batch) == 0) Thread.onSpinWait()
                batch[0].copy()
            }

        test("should give a completion to the target in its id, with the request's number") {
            val targets = CompletionTargets()
            val heard = List(40) { Heard() }
            val keys = heard.map { targets.add(it) }
            targets.complete(completion(keys[33], 7))
            heard[33].requests.shouldContainExactly(7)
            heard.filter { it.requests.isNotEmpty() }.size shouldBe 1
        }

        test("should give no completion to a removed target") {
            val targets = CompletionTargets()
            val gone = Heard()
            val key = targets.add(gone)
            targets.remove(key)
            targets.complete(completion(key, 7))
            gone.requests.shouldBeEmpty()
        }

        test("should give no completion of a removed target to the target that has its index") {
            val targets = CompletionTargets()
            val key = targets.add(Heard())
            targets.remove(key)
            val next = Heard()
            targets.add(next) shouldNotBe key
            targets.complete(completion(key, 7))
            next.requests.shouldBeEmpty()
        }
    })
