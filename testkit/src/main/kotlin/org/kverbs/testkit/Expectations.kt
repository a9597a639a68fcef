@file:JvmMultifileClass
@file:JvmName("Testkit")

package org.kverbs.testkit

import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletionStatus

// Failures are AssertionErrors, which every test framework knows, so that the testkit depends on no framework.

/** Fails with the whole completion unless the work request succeeded. Returns the completion. */
public fun WorkCompletion.shouldBeSuccessful(): WorkCompletion = having(WorkCompletionStatus.SUCCESS)

/** Fails with the whole completion unless the work request ended with this status. Returns the completion. */
public infix fun WorkCompletion.shouldHaveFailedWith(status: WorkCompletionStatus): WorkCompletion = having(status)

private fun WorkCompletion.having(status: WorkCompletionStatus): WorkCompletion =
    also { if (it.status() != status) throw AssertionError("$it should have status $status") }

/** Fails unless the message arrived without error and is this text in UTF-8. Returns the message. */
public infix fun ReceivedMessage.shouldHaveText(expected: String): ReceivedMessage =
    also {
        completion.shouldBeSuccessful()
        if (text != expected) throw AssertionError("the text of $this should be \"$expected\", and is \"$text\"")
    }

/** Fails unless the message arrived without error and consists of these bytes. Returns the message. */
public infix fun ReceivedMessage.shouldHaveBytes(expected: ByteArray): ReceivedMessage =
    also {
        completion.shouldBeSuccessful()
        if (bytes contentEquals expected) return@also
        val first = bytes.zip(expected).indexOfFirst { (came, wanted) -> came != wanted }
        val where =
            if (first < 0) {
                "the shorter is the beginning of the longer"
            } else {
                "byte $first is ${bytes[first]} instead of ${expected[first]}"
            }
        throw AssertionError("the bytes of $this should be ${expected.size} other bytes: $where")
    }
