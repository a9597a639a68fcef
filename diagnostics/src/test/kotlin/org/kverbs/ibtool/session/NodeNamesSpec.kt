package org.kverbs.ibtool.session

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldMatch
import io.kotest.property.Arb
import io.kotest.property.arbitrary.byte
import io.kotest.property.arbitrary.byteArray
import io.kotest.property.arbitrary.constant
import io.kotest.property.checkAll
import org.kverbs.management.structures.NodeDescription

class NodeNamesSpec :
    FunSpec({
        test("should print a blank for each byte of a description that is not printable, as infiniband-diags does") {
            NodeNames.clean(NodeDescription { nodeString = "a\u001b[2Jb\u00e9c\n" }) shouldBe "a [2Jb  c "
        }

        test("should print nothing but printable characters, whatever a node says") {
            checkAll(500, Arb.byteArray(Arb.constant(64), Arb.byte())) { bytes ->
                NodeNames.clean(NodeDescription.of(bytes)) shouldMatch "[ -~]*"
            }
        }
    })
