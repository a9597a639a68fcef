package org.kverbs

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.shouldBe
import org.kverbs.NullVerbs.onNullDevice

class SliceOwnerSpec :
    FunSpec({
        onNullDevice()

        test(
            "should name the owners of the slices that a list sends from or reads into, and forget them with the " +
                "requests",
        ) {
            NullBench().use { bench ->
                val (one, two) = listOf("one", "two").map { owner -> bench.mr.slice(0, 8, owner) }
                one.owner() shouldBe "one"
                bench.mr.slice(0, 8).owner().shouldBeNull()
                val requests = SendRequests()
                requests.owners().shouldBeEmpty()
                requests.send(1).from(one).from(one).from(bench.mr.slice())
                requests.read(2, 0x1000, 7).into(two)
                requests.write(3, 0x1000, 7).from(one)
                requests.write(4, 0x1000, 7).inline(two)
                requests.owners() shouldContainExactly listOf("one", "two", "one")
                repeat(10) { requests.send(5).from(bench.mr.slice(0, 8, it)) }
                requests.owners() shouldContainExactly listOf("one", "two", "one") + (0..9)
                requests.clear()
                requests.owners().shouldBeEmpty()
            }
        }
    })
