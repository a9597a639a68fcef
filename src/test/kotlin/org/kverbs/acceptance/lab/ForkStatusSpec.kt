package org.kverbs.acceptance.lab

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.ForkStatus

/** What becomes of registered memory at a fork, by the kernel's own word. */
internal class ForkStatusSpec :
    FunSpec({
        test("should say that this kernel copies registered pages for a child by itself, as Linux does from 5.13 on") {
            ForkStatus.ofThisProcess() shouldBe ForkStatus.UNNEEDED
        }
    })
