package org.kverbs

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.NullVerbs.onNullDevice
import org.kverbs.internal.abi.inTemporaryFolder
import kotlin.io.path.copyTo

/** Shows that no critical call waits for a thread that can have stopped at a safepoint. */
class HeldLockSpec :
    FunSpec({
        onNullDevice()

        test("should go on when posts take the lock of an extended poll that the collector has stopped") {
            HeldLockProgram.run(HeldLockProgram.Case.EXTENDED_POLL_AND_POST, library, CARD) shouldBe "done"
        }

        test("should go on when receives take the lock of an extended poll that the collector has stopped") {
            HeldLockProgram.run(HeldLockProgram.Case.EXTENDED_POLL_AND_RECEIVE, library, CARD) shouldBe "done"
        }

        test("should go on when polls take the lock of an extended post that the collector has stopped") {
            HeldLockProgram.run(HeldLockProgram.Case.EXTENDED_POST_AND_POLL, library, CARD) shouldBe "done"
        }

        listOf("bnxt_re-rdmav34", "hfi1verbs-rdmav34", "rxe-rdmav34").forEach { driver ->
            test("should let the collector run while a call of lib$driver.so waits in the kernel") {
                inTemporaryFolder { folder ->
                    val named = NullVerbs.library.copyTo(folder.resolve("lib$driver.so")).toString()
                    HeldLockProgram.run(HeldLockProgram.Case.WAITING_POLL, named) shouldBe "done"
                    HeldLockProgram.run(HeldLockProgram.Case.WAITING_POST, named) shouldBe "done"
                }
            }
        }
    })

private val library get() = NullVerbs.library.toString()

/** The option that forces critical calls, as for a driver that stays in user space. */
private const val CARD = "-Dkverbs.shortPost=true"
