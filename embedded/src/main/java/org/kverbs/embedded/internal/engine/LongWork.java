package org.kverbs.embedded.internal.engine;

/**
 * The rests of long work, on the real clock: tasks that other threads get the lock between. A thread that polls in vain
 * does one task; otherwise the timer's thread does. Guarded by the engine's lock, but for {@link #isLeft}.
 */
final class LongWork {

    /**
     * How long the timer's thread leaves the rest of long work to a polling thread, which then need not wait for the
     * timer's thread.
     */
    static final long LEFT_NANOS = 100_000;

    private final Engine engine;
    private final TaskQueue tasks = new TaskQueue();
    /** True if tasks wait. Written with the lock held. */
    private volatile boolean isLeft;
    /** How long a task waits for a polling thread now, in nanoseconds. */
    private long patience = LEFT_NANOS;

    private final Event turn = new Event() {
        @Override
        protected void happen() {
            goOn(0);
        }
    };

    LongWork(Engine engine) {
        this.engine = engine;
    }

    /** Queues a task. */
    void add(Task task) {
        tasks.add(task);
        isLeft = true;
        if (!turn.isScheduled()) {
            engine.schedule(turn, patience);
        }
    }

    /** Tells whether a task waits; callable without the lock. */
    boolean isLeft() {
        return isLeft;
    }

    /** Tells whether an event is the one that runs a task. */
    boolean isTurn(Event event) {
        return event == turn;
    }

    /** Does one task, and lets the timer's thread do the next one after a delay. */
    void goOn(long delayNanos) {
        Task task = tasks.poll();
        if (task == null) {
            return;
        }
        if (tasks.isEmpty()) {
            isLeft = false;
            engine.cancel(turn);
        } else {
            engine.schedule(turn, delayNanos);
        }
        patience = delayNanos;
        try {
            engine.carryOut(task);
        } finally {
            patience = LEFT_NANOS;
        }
    }
}
