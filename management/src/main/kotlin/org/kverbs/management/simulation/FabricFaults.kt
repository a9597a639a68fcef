package org.kverbs.management.simulation

import kotlin.time.Duration

/**
 * What goes wrong on the wires of a simulated fabric. Each share is a probability of 0 to 1. They can be changed at any
 * time. One random generator draws them, from the seed of the fabric.
 *
 * ```
 * simulation.faults {
 *     loss = 0.1
 *     delay(1.milliseconds..20.milliseconds)
 * }
 * ```
 */
public class FabricFaults internal constructor() {
    /** Requests and answers that vanish, each. */
    public var loss: Double by Share()

    /** Answers that arrive twice. */
    public var duplicates: Double by Share()

    /** Requests that the node answers with the status "busy", without doing what they ask. */
    public var busy: Double by Share()

    /** Answers with another transaction id. */
    public var wrongTransaction: Double by Share()

    /** Answers about another attribute. */
    public var wrongAttribute: Double by Share()

    /** Answers of another management class. */
    public var wrongClass: Double by Share()

    /** Answers that end early. */
    public var truncated: Double by Share()

    /** Answers in which a few bytes of any place are changed. */
    public var malformed: Double by Share()

    @Volatile
    internal var shortest: Duration = Duration.ZERO
        private set

    @Volatile
    internal var longest: Duration = Duration.ZERO
        private set

    /** How long each way takes: a request, and an answer. */
    public fun delay(time: Duration): Unit = delay(time..time)

    /** How long each way takes, at random. */
    public fun delay(time: ClosedRange<Duration>) {
        require(!time.start.isNegative() && time.start <= time.endInclusive && time.endInclusive.isFinite()) {
            "a delay of ${time.start} to ${time.endInclusive} is impossible; give times from zero on, the shorter first"
        }
        shortest = time.start
        longest = time.endInclusive
    }

    /** Ends all faults and delays. */
    public fun clear() {
        loss = 0.0
        duplicates = 0.0
        busy = 0.0
        wrongTransaction = 0.0
        wrongAttribute = 0.0
        wrongClass = 0.0
        truncated = 0.0
        malformed = 0.0
        delay(Duration.ZERO)
    }
}
