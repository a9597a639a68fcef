package org.kverbs.testkit.kotest

import io.kotest.matchers.Matcher
import io.kotest.matchers.MatcherResult
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletionStatus
import org.kverbs.testkit.ReceivedMessage

/** Matches a completion with this status. A failure shows the whole completion. */
public fun haveStatus(status: WorkCompletionStatus): Matcher<WorkCompletion> =
    Matcher { completion ->
        MatcherResult(
            completion.status() == status,
            { "$completion should have status $status" },
            { "$completion should not have status $status" },
        )
    }

/** Matches a message that arrived without error and is this text in UTF-8. */
public fun haveText(expected: String): Matcher<ReceivedMessage> = haveContent("\"$expected\"") { "\"${it.text}\"" }

/** Matches a message that arrived without error and consists of these bytes. */
public fun haveBytes(expected: ByteArray): Matcher<ReceivedMessage> =
    haveContent(expected.toHexString()) { it.bytes.toHexString() }

private fun haveContent(
    expected: String,
    content: (ReceivedMessage) -> String,
): Matcher<ReceivedMessage> =
    Matcher { message ->
        MatcherResult(
            message.completion.isSuccess && content(message) == expected,
            { "the message should be $expected, and is ${content(message)}: $message" },
            { "the message should not be $expected: $message" },
        )
    }
