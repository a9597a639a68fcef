package org.kverbs.management.transport

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.structures.Lid

/** No device of the lab has several LIDs: the devices speak RoCE. */
class UdSendersSpec :
    FunSpec({
        test("should answer from the LID that was asked, of those that a port has") {
            further(first = 0x40, lmc = 3, pathBits = 5) shouldBe Lid(0x45)
            further(first = 0x40, lmc = 3, pathBits = 0) shouldBe null
            // Some drivers tell more low bits of the LID than the port chooses by.
            further(first = 0x44, lmc = 2, pathBits = 0x47) shouldBe Lid(0x47)
            further(first = 0x45, lmc = 0, pathBits = 0x45) shouldBe null
            further(first = 0, lmc = 1, pathBits = 1) shouldBe Lid(1)
        }
    })
