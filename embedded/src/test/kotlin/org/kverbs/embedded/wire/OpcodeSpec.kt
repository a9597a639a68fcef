package org.kverbs.embedded.wire

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import org.kverbs.embedded.internal.wire.Opcode

class OpcodeSpec :
    FunSpec({
        test("should know the opcodes of RC, UC, UD and XRC, and a CNP, and no other") {
            knownOpcodes shouldContainExactly
                (0x00..0x14) + listOf(0x16, 0x17, 0x1c, 0x1d) + (0x20..0x2b) + listOf(0x64, 0x65, 0x81) + (0xa0..0xb4) +
                listOf(0xb6, 0xb7)
        }

        test("should have each opcode at one place of its message, a request or a response, except for a CNP") {
            (knownOpcodes - Opcode.CNP).forEach { opcode ->
                withClue("opcode 0x${opcode.toString(16)}") {
                    listOf(
                        Opcode.isFirst(opcode),
                        Opcode.isMiddle(opcode),
                        Opcode.isLast(opcode),
                        Opcode.isOnly(opcode),
                    ).count { it } shouldBe 1
                    (Opcode.isRequest(opcode) != Opcode.isResponse(opcode)) shouldBe true
                }
            }
            Opcode.isOnly(Opcode.CNP) shouldBe false
            Opcode.isRequest(Opcode.CNP) shouldBe false
            Opcode.isResponse(Opcode.CNP) shouldBe false
        }

        test("should return false or 0 for unknown opcodes") {
            (0..255).filterNot(Opcode::known).forEach { opcode ->
                Opcode.headerLength(opcode) shouldBe 0
                Opcode.hasPayload(opcode) shouldBe false
                Opcode.isRequest(opcode) shouldBe false
                Opcode.isResponse(opcode) shouldBe false
            }
        }

        test("should tell the transports apart") {
            ((0x00..0x14) + listOf(0x1c, 0x1d)).forEach { Opcode.transport(it) shouldBe Opcode.RC }
            (0x20..0x2b).forEach { Opcode.transport(it) shouldBe Opcode.UC }
            listOf(0x64, 0x65).forEach { Opcode.transport(it) shouldBe Opcode.UD }
            (0xa0..0xb7).forEach { Opcode.transport(it) shouldBe Opcode.XRC }
            (Opcode.transport(Opcode.CNP) in listOf(Opcode.RC, Opcode.UC, Opcode.UD, Opcode.XRC)) shouldBe false
        }

        // The tables of IBA volume 1, 9.2.1, written a second time.
        test("should have the headers that the specification lists for each opcode") {
            knownOpcodes.filter(Opcode::hasReth) shouldContainExactly
                listOf(0x06, 0x0a, 0x0b, 0x0c, 0x1c, 0x1d, 0x26, 0x2a, 0x2b, 0xa6, 0xaa, 0xab, 0xac)
            knownOpcodes.filter(Opcode::hasFeth) shouldContainExactly listOf(0x1c)
            knownOpcodes.filter(Opcode::hasAtomicEth) shouldContainExactly listOf(0x13, 0x14, 0xb3, 0xb4)
            knownOpcodes.filter(Opcode::hasAeth) shouldContainExactly
                listOf(0x0d, 0x0f, 0x10, 0x11, 0x12, 0xad, 0xaf, 0xb0, 0xb1, 0xb2)
            knownOpcodes.filter(Opcode::hasAtomicAck) shouldContainExactly listOf(0x12, 0xb2)
            knownOpcodes.filter(Opcode::hasDeth) shouldContainExactly listOf(0x64, 0x65)
            knownOpcodes.filter(Opcode::hasInvalidate) shouldContainExactly listOf(0x16, 0x17, 0xb6, 0xb7)
            knownOpcodes.filter(Opcode::hasXrcEth) shouldContainExactly
                (0xa0..0xac) + listOf(0xb3, 0xb4, 0xb6, 0xb7)
            knownOpcodes.filter(Opcode::hasImmediate) shouldContainExactly
                listOf(0x03, 0x05, 0x09, 0x0b, 0x23, 0x25, 0x29, 0x2b, 0x65, 0xa3, 0xa5, 0xa9, 0xab)
            knownOpcodes.filterNot(Opcode::hasPayload) shouldContainExactly
                listOf(0x0c, 0x11, 0x12, 0x13, 0x14, 0x1c, 0x81, 0xac, 0xb1, 0xb2, 0xb3, 0xb4)
        }

        test("should place the packets in their messages as the specification does") {
            knownOpcodes.filter(Opcode::isFirst) shouldContainExactly
                listOf(0x00, 0x06, 0x0d, 0x20, 0x26, 0xa0, 0xa6, 0xad)
            knownOpcodes.filter(Opcode::isMiddle) shouldContainExactly
                listOf(0x01, 0x07, 0x0e, 0x21, 0x27, 0xa1, 0xa7, 0xae)
            knownOpcodes.filter(Opcode::isLast) shouldContainExactly
                listOf(0x02, 0x03, 0x08, 0x09, 0x0f, 0x16, 0x22, 0x23, 0x28, 0x29) +
                listOf(0xa2, 0xa3, 0xa8, 0xa9, 0xaf, 0xb6)
            knownOpcodes.filter(Opcode::isResponse) shouldContainExactly (0x0d..0x12) + (0xad..0xb2)
        }
    })
