package org.kverbs.embedded.internal.engine;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.kverbs.internal.memory.Memory;

/**
 * Makes long copies without the lock of the engine. A thread that leaves the engine makes the copies that wait. A
 * thread that is about to end what a copy uses (a region, a queue pair, the program's right to a buffer) waits for the
 * copies that are being made, and keeps the lock meanwhile: a copy needs no lock to end, and no other begins.
 *
 * <p>All methods are called with the lock held.
 */
public final class LongCopies {

    /** How often a thread looks whether a copy has ended before it offers its processor to the copying thread. */
    private static final int LOOKS = 1000;

    private final Engine engine;
    private final ReentrantLock lock;
    private final Entrance entrance;
    private final ArrayDeque<LongCopy> waiting = new ArrayDeque<>();
    /** Whether copies wait: each call asks, and nearly always there are none. */
    private boolean isLeft;
    private final List<LongCopy> running = new ArrayList<>();
    private long made;

    LongCopies(Engine engine, ReentrantLock lock, Entrance entrance) {
        this.engine = engine;
        this.lock = lock;
        this.entrance = entrance;
    }

    /**
     * Tells whether copies can be made without the lock: not on the virtual clock, whose order of events is the same in
     * every run, and not with one processor.
     */
    public boolean arePossible() {
        return !engine.isVirtual() && Entrance.HAS_OTHERS;
    }

    /** Returns the number of copies that were made whole without the lock. */
    public long made() {
        return made;
    }

    /** Queues a copy, which is made before the thread that leaves the engine next has left it. */
    public void add(LongCopy copy) {
        waiting.add(copy);
        isLeft = true;
    }

    /**
     * Makes the copies that wait, and what follows from them, unless the caller has entered before. Returns false if
     * there were none, so that the lock was held all the time.
     */
    boolean makeAll() {
        if (!isLeft || lock.getHoldCount() != 1) {
            return false;
        }
        for (LongCopy copy = waiting.poll(); copy != null; copy = waiting.poll()) {
            engine.pause();
            makeOne(copy);
        }
        isLeft = false;
        return true;
    }

    /** Whatever is thrown on the way, such as a stack overflow, the copy ends: else its owner would wait for ever. */
    private void makeOne(LongCopy copy) {
        boolean done = false;
        try {
            done = copy.begin() && make(copy);
        } finally {
            copy.end(done);
        }
        try {
            engine.settle();
        } finally {
            copy.forget();
        }
    }

    private boolean make(LongCopy copy) {
        boolean done = false;
        StackRoom.probe(); // while the lock is held: what is thrown behind the copy must not leave it free
        copy.isSpoiled = false;
        copy.busy = true;
        running.add(copy);
        lock.unlock();
        try {
            Memory.copy(copy.from, copy.to, copy.bytes);
            Memory.throwPending();
            done = true;
        } catch (Throwable e) {
            // Such as the error of a file that shrank. The bytes are copied once more with the lock held, where the
            // device handles what is thrown.
            done = false;
        } finally {
            copy.busy = false;
            try {
                entrance.enterAgain();
            } finally {
                running.remove(copy);
            }
        }
        if (!done || copy.isSpoiled) {
            return false;
        }
        made++;
        return true;
    }

    /**
     * Waits for the copies that are being made, and has their bytes copied once more with the lock held: what the
     * caller changes can make them wrong. Called before anything ends or moves that a copy may use: a region, a queue
     * pair, or the device's hold on the buffers of posted requests. A thread whose copy has just ended may have to wait
     * for the lock until the caller has made its change.
     */
    // The yield only offers the processor, nothing relies on it.
    @SuppressWarnings("ThreadPriorityCheck")
    public void await() {
        for (int i = 0; i < running.size(); i++) {
            LongCopy copy = running.get(i);
            for (int looks = 0; copy.busy; looks++) {
                if (looks < LOOKS) {
                    Thread.onSpinWait();
                } else {
                    Thread.yield();
                }
            }
            copy.isSpoiled = true;
        }
    }
}
