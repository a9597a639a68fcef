package org.kverbs.testkit

import io.kotest.assertions.withClue
import io.kotest.matchers.Matcher
import io.kotest.matchers.MatcherResult
import io.kotest.matchers.should
import io.kotest.matchers.shouldBe
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletionStatus

/** Matches a completion of this status; says the whole completion where it is another. */
public fun haveStatus(status: WorkCompletionStatus): Matcher<WorkCompletion> =
    Matcher { completion ->
        MatcherResult(
            completion.status() == status,
            { "$completion should have status $status" },
            { "$completion should not have status $status" },
        )
    }

/** Fails unless the work request was done without error. Returns the completion. */
public fun WorkCompletion.shouldBeSuccessful(): WorkCompletion = also { it should haveStatus(WorkCompletionStatus.SUCCESS) }

/** Fails unless the work request ended with this status. Returns the completion. */
public infix fun WorkCompletion.shouldHaveFailedWith(status: WorkCompletionStatus): WorkCompletion = also { it should haveStatus(status) }

/** Fails unless the message came without error and is this text in UTF-8. Returns the message. */
public infix fun Received.shouldHaveText(expected: String): Received =
    also {
        completion.shouldBeSuccessful()
        withClue("the text of $this") { text shouldBe expected }
    }

/** Fails unless the message came without error and is these bytes. Returns the message. */
public infix fun Received.shouldHaveBytes(expected: ByteArray): Received =
    also {
        completion.shouldBeSuccessful()
        withClue("the bytes of $this") { bytes shouldBe expected }
    }
