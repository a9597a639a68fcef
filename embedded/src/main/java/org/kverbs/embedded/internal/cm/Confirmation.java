package org.kverbs.embedded.internal.cm;

import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.engine.Engine;

/**
 * Tracks whether the peer of a connection has confirmed its address, by naming our id, and limits the answers until
 * then. Without this limit one forged datagram could draw many datagrams to a third party.
 */
final class Confirmation {

    /** The number of answers to a peer that has confirmed nothing. */
    private static final int ANSWERS = 6;
    /** The shortest time between two such answers, in nanoseconds. */
    static final long INTERVAL = 1_000_000_000;

    private final Engine engine;
    private boolean needed;
    private int answersLeft = ANSWERS;
    private long lastAnswer;
    /** The record that counts the connection until it is established. */
    private @Nullable HalfOpen place;

    Confirmation(Engine engine) {
        this.engine = engine;
    }

    /** Notes that the peer must confirm its address. */
    void require() {
        needed = true;
    }

    void placeIn(HalfOpen halfOpen) {
        place = halfOpen;
    }

    /** Notes that the peer has named our id. */
    void give() {
        needed = false;
    }

    /** Tells whether a repeated request may be answered again so soon. */
    boolean mayRepeat() {
        return !needed || answersLeft == ANSWERS || engine.now() - lastAnswer >= INTERVAL;
    }

    /** Tells whether the peer may get another answer. */
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

    /** Notes that the program accepts the connection. */
    void accepted(Connection connection) {
        if (place != null) {
            place.answer(connection);
        }
    }

    /** Notes that the connection is established or ends. */
    void leave(Connection connection) {
        if (place != null) {
            place.forget(connection);
            place = null;
        }
    }
}
