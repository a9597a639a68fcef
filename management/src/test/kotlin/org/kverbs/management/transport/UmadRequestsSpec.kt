package org.kverbs.management.transport

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.types.shouldBeSameInstanceAs
import org.kverbs.management.path.lid
import java.nio.ByteBuffer
import kotlin.time.Duration.Companion.ZERO
import kotlin.time.Duration.Companion.seconds

private fun request(transaction: Long) = vendorRequest().also { ByteBuffer.wrap(it).putLong(8, transaction) }

private fun repetition(transaction: Long) = UmadRequests.Repetition(request(transaction), lid(1), 1.seconds)

class UmadRequestsSpec :
    FunSpec({
        test("should keep a repetition until the kernel has given the request up") {
            val requests = UmadRequests()
            requests.sent(3, request(7), 1.seconds)
            val again = repetition(7)
            requests.keep(3, again) shouldBe true
            // The kernel has written the high half of the id.
            requests.gaveUp(3, request(0x1234_0000_0007)).shouldNotBeNull().again shouldBeSameInstanceAs again
            requests.gaveUp(3, request(7)).shouldBeNull()
        }

        test("should not keep what the kernel refuses for another reason") {
            val requests = UmadRequests()
            requests.keep(3, repetition(7)) shouldBe false
            requests.sent(3, request(7), 1.seconds)
            requests.keep(4, repetition(7)) shouldBe false
            requests.keep(3, repetition(8)) shouldBe false
            requests.gaveUp(3, request(7)).shouldNotBeNull().again.shouldBeNull()
            requests.keep(3, repetition(7)) shouldBe false
        }

        test("should know of the request that the kernel took while the end of the one before was still unread") {
            val requests = UmadRequests()
            requests.sent(3, request(7), 1.seconds)
            // Given up, but not read yet: the kernel takes the repetition.
            requests.sent(3, request(7), 1.seconds)
            requests.gaveUp(3, request(7)).shouldBeNull()
            val third = repetition(7)
            requests.keep(3, third) shouldBe true
            requests.gaveUp(3, request(7)).shouldNotBeNull().again shouldBeSameInstanceAs third
            requests.keep(3, repetition(7)) shouldBe false
        }

        test("should tell an end long before the request's time from one at that time") {
            val requests = UmadRequests()
            requests.sent(3, request(7), 60.seconds)
            requests.gaveUp(3, request(7)).shouldNotBeNull().isEarly shouldBe true
            requests.sent(3, request(8), ZERO)
            requests.gaveUp(3, request(8)).shouldNotBeNull().isEarly shouldBe false
        }

        test("should ask nothing again that was answered") {
            val requests = UmadRequests()
            requests.sent(3, request(7), 1.seconds)
            requests.sent(3, request(7), 1.seconds)
            requests.keep(3, repetition(7)) shouldBe true
            requests.answered(3, request(7))
            requests.gaveUp(3, request(7)).shouldBeNull()
            requests.keep(3, repetition(7)) shouldBe false
        }
    })
