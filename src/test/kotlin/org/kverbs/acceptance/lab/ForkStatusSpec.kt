package org.kverbs.acceptance.lab

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.ForkStatus

/** Checks what happens to registered memory at a fork, by the kernel's own report. */
internal class ForkStatusSpec :
    FunSpec({
        test("should tell that this kernel copies registered pages for a child, as Linux does from 5.13 on") {
            ForkStatus.ofThisProcess() shouldBe ForkStatus.UNNEEDED
        }
    })
