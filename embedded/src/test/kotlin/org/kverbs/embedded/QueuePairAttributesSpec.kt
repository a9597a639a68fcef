package org.kverbs.embedded

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.QueuePairInitAttributes
import org.kverbs.RdmaSystemException
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType

class QueuePairAttributesSpec :
    FunSpec({
        test("should refuse a P_Key index whose lower byte alone is right") {
            EmbeddedFabric.virtual(1).use { fabric ->
                End(fabric.addDevice(), QueuePairType.RC, 64).use { end ->
                    val qp = end.qp.protectionDomain().queuePair(QueuePairInitAttributes.of(QueuePairType.RC, end.cq))
                    val init = QueuePairAttributes.builder().state(QueuePairState.INIT).port(1).accessFlags(setOf())
                    shouldThrow<RdmaSystemException> { qp.modify(init.pkeyIndex(0x100).build()) }.errnoName() shouldBe
                        "EINVAL"
                    qp.modify(init.pkeyIndex(0).build())
                }
            }
        }
    })
