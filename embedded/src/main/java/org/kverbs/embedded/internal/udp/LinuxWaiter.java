package org.kverbs.embedded.internal.udp;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Waits by {@code man 7 epoll}. The waiting thread uses the descriptors of this object alone, so that a socket can be
 * closed at any time: the kernel then takes it out of the wait. The descriptors are closed when no thread waits.
 */
final class LinuxWaiter implements Waiter {

    private static final int CLOEXEC = 0x80000;
    private static final int NONBLOCK = 0x800;
    private static final int ADD = 1;
    private static final int IN = 1;
    private static final int FOREVER = -1;
    /** Room for an event of any processor: 12 bytes on x86-64, 16 elsewhere. */
    private static final int EVENT = 16;

    /** For the waiting thread. */
    private final Libc waits = new Libc();

    private final Libc calls = new Libc();
    private final MemorySegment memory = Arena.ofAuto().allocate(2 * EVENT, EVENT);
    private final Descriptor epoll;
    /** Becomes readable when the waiter is closed. */
    private final Descriptor end;

    private boolean isWaiting;
    private volatile boolean isClosed;

    LinuxWaiter() throws IOException {
        epoll = new Descriptor(this, check(calls.epollCreate(CLOEXEC)));
        try {
            end = new Descriptor(this, check(calls.eventDescriptor(0, CLOEXEC | NONBLOCK)));
        } catch (IOException e) {
            epoll.close();
            throw e;
        }
        try {
            add(end.number);
        } catch (IOException e) {
            closeAll();
            throw e;
        }
    }

    private static int check(int result) throws IOException {
        if (result < 0) {
            throw new IOException("the system gave no descriptor to wait with: errno " + -result);
        }
        return result;
    }

    @Override
    public synchronized void add(UdpSocket socket) throws IOException {
        if (!isClosed) {
            add(((LinuxSocket) socket).number());
        }
    }

    private void add(int number) throws IOException {
        memory.fill((byte) 0);
        memory.set(JAVA_INT, 0, IN);
        check(calls.epollControl(epoll.number, ADD, number, memory.address()));
    }

    @Override
    public boolean await() throws IOException {
        synchronized (this) {
            if (isClosed) {
                return false;
            }
            isWaiting = true;
        }
        int found = waits.epollWait(epoll.number, memory.address() + EVENT, 1, FOREVER);
        synchronized (this) {
            isWaiting = false;
            if (isClosed) {
                closeAll();
            } else if (found < 0 && !Libc.isInterrupted(found)) {
                throw new IOException("epoll_wait failed: errno " + -found);
            }
            return found > 0 && !isClosed;
        }
    }

    @Override
    public boolean isOpen() {
        return !isClosed;
    }

    @Override
    public synchronized void close() {
        if (isClosed) {
            return;
        }
        isClosed = true;
        if (isWaiting) {
            memory.set(JAVA_LONG, 0, 1);
            calls.write(end.number, memory.address(), Long.BYTES);
        } else {
            closeAll();
        }
    }

    private void closeAll() {
        end.close();
        epoll.close();
    }
}
