package org.kverbs.embedded.internal.cm;

import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.engine.Engine;

/**
 * Whether the peer of a connection has shown that it has the address from which it seems to speak, by naming our id,
 * and what it is answered before: else one forged datagram draws many to a third party.
 */
final class Confirmation {

    /** Answers to a peer that has confirmed nothing. */
    private static final int ANSWERS = 6;
    /** The least time between two of them, in nanoseconds. */
    static final long INTERVAL = 1_000_000_000;

    private final Engine engine;
    private boolean needed;
    private int answersLeft = ANSWERS;
    private long lastAnswer;
    /** Where the connection is counted until it is established. */
    private @Nullable HalfOpen place;

    Confirmation(Engine engine) {
        this.engine = engine;
    }

    /** Nothing is known of the peer. */
    void require() {
        needed = true;
    }

    void placeIn(HalfOpen halfOpen) {
        place = halfOpen;
    }

    /** The peer has named our id. */
    void give() {
        needed = false;
    }

    /** Whether a question that was answered may be answered again so soon. */
    boolean mayRepeat() {
        return !needed || answersLeft == ANSWERS || engine.now() - lastAnswer >= INTERVAL;
    }

    /** Whether the peer may be answered at all. */
    boolean hasAnswers() {
        return !needed || answersLeft > 0;
    }

    /** Counts an answer. Returns whether it may be sent. */
    boolean answer() {
        boolean may = hasAnswers();
        if (may && needed) {
            answersLeft--;
            lastAnswer = engine.now();
        }
        return may;
    }

    /** The program accepts. */
    void accepted(Connection connection) {
        if (place != null) {
            place.answer(connection);
        }
    }

    /** The connection is established, or ends. */
    void leave(Connection connection) {
        if (place != null) {
            place.forget(connection);
            place = null;
        }
    }
}
