package org.kverbs.benchmarks.bench

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactlyInAnyOrder

/** Tests which contenders the pages can lack. */
class ContendersSpec :
    FunSpec({
        test("should know each contender that needs an RDMA device, so that the pages can be written without one") {
            val ofDevice = CONTENDERS.filter { "the RDMA device" in it.title }.map { it.name }
            OF_A_DEVICE shouldContainExactlyInAnyOrder ofDevice
        }
    })
