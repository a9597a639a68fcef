package org.kverbs.embedded.internal.udp;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.Set;
import org.kverbs.internal.abi.Errno;

/**
 * The functions of Linux's C library that {@link LinuxSocket} and {@link LinuxWaiter} need ({@code man 2 socket} and so
 * on). Each returns what the function returns, or -errno. An object is for one call at a time, since errno comes to
 * memory of the object.
 *
 * <p>The JVM slices that memory for each call that keeps errno, and the slice is an object that not every JIT removes.
 * So the functions that are called for each packet keep no errno: sends and waits that fail are called again for it.
 */
final class Libc {

    private static final Linker.Option[] PLAIN = {};
    private final MemorySegment errno = Arena.ofAuto().allocate(JAVA_INT);

    /**
     * Tells whether the functions can be called: on Linux on a processor whose structures are known here, if the JVM
     * permits native calls. It would warn the user of one that it does not permit.
     */
    static boolean isUsable() {
        return System.getProperty("os.name").equals("Linux")
                && Set.of("amd64", "aarch64").contains(System.getProperty("os.arch"))
                && Libc.class.getModule().isNativeAccessEnabled();
    }

    private static MethodHandle find(String name, FunctionDescriptor descriptor, Linker.Option... options) {
        Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(linker.defaultLookup().findOrThrow(name), descriptor, options);
    }

    private static MethodHandle find(String name, FunctionDescriptor descriptor) {
        return find(name, descriptor, Linker.Option.captureCallState("errno"));
    }

    private static FunctionDescriptor toInt(MemoryLayout... parameters) {
        return FunctionDescriptor.of(JAVA_INT, parameters);
    }

    /** In a class of its own: a system that lacks a function has no need of it. Those of PLAIN_ keep no errno. */
    private static final class Handles {
        static final MethodHandle SOCKET = find("socket", toInt(JAVA_INT, JAVA_INT, JAVA_INT));
        static final MethodHandle BIND = find("bind", toInt(JAVA_INT, JAVA_LONG, JAVA_INT));
        static final MethodHandle SETSOCKOPT =
                find("setsockopt", toInt(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_INT));
        static final MethodHandle GETSOCKOPT =
                find("getsockopt", toInt(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG));
        static final FunctionDescriptor MESSAGE = FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT);
        static final FunctionDescriptor TO =
                FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT);
        static final FunctionDescriptor WAIT = toInt(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_INT);
        static final MethodHandle SENDMSG = find("sendmsg", MESSAGE);
        static final MethodHandle PLAIN_SENDMSG = find("sendmsg", MESSAGE, PLAIN);
        static final MethodHandle SENDTO = find("sendto", TO);
        static final MethodHandle PLAIN_SENDTO = find("sendto", TO, PLAIN);
        static final MethodHandle PLAIN_RECVMSG = find("recvmsg", MESSAGE, PLAIN);
        static final MethodHandle CLOSE = find("close", toInt(JAVA_INT));
        static final MethodHandle EPOLL_CREATE = find("epoll_create1", toInt(JAVA_INT));
        static final MethodHandle EPOLL_CTL = find("epoll_ctl", toInt(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));
        static final MethodHandle EPOLL_WAIT = find("epoll_wait", WAIT);
        static final MethodHandle PLAIN_EPOLL_WAIT = find("epoll_wait", WAIT, PLAIN);
        static final MethodHandle EVENTFD = find("eventfd", toInt(JAVA_INT, JAVA_INT));
        static final MethodHandle WRITE =
                find("write", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG));
    }

    private int result(int returned) {
        return returned >= 0 ? returned : -errno.get(JAVA_INT, 0);
    }

    /** A native function throws nothing but what the JVM itself throws. */
    private static RuntimeException thrown(Throwable e) {
        return switch (e) {
            case RuntimeException unchecked -> unchecked;
            case Error error -> throw error;
            default -> new IllegalStateException(e);
        };
    }

    int socket(int domain, int type, int protocol) {
        try {
            return result((int) Handles.SOCKET.invokeExact(errno, domain, type, protocol));
        } catch (Throwable e) {
            throw thrown(e);
        }
    }

    int bind(int descriptor, long address, int length) {
        try {
            return result((int) Handles.BIND.invokeExact(errno, descriptor, address, length));
        } catch (Throwable e) {
            throw thrown(e);
        }
    }

    int setOption(int descriptor, int level, int name, long value, int length) {
        try {
            return result((int) Handles.SETSOCKOPT.invokeExact(errno, descriptor, level, name, value, length));
        } catch (Throwable e) {
            throw thrown(e);
        }
    }

    /** @param length the address of the length of the value */
    int getOption(int descriptor, int level, int name, long value, long length) {
        try {
            return result((int) Handles.GETSOCKOPT.invokeExact(errno, descriptor, level, name, value, length));
        } catch (Throwable e) {
            throw thrown(e);
        }
    }

    int sendMessage(int descriptor, long message) {
        try {
            int sent = (int) (long) Handles.PLAIN_SENDMSG.invokeExact(descriptor, message, 0);
            return sent >= 0 ? sent : result((int) (long) Handles.SENDMSG.invokeExact(errno, descriptor, message, 0));
        } catch (Throwable e) {
            throw thrown(e);
        }
    }

    int sendTo(int descriptor, long from, long length, long address, int addressLength) {
        try {
            int sent = (int) (long)
                    Handles.PLAIN_SENDTO.invokeExact(descriptor, from, length, 0, address, addressLength);
            return sent >= 0
                    ? sent
                    : result((int) (long)
                            Handles.SENDTO.invokeExact(errno, descriptor, from, length, 0, address, addressLength));
        } catch (Throwable e) {
            throw thrown(e);
        }
    }

    /** Returns -1 for any failure: to a socket that does not block, most often nothing has come. */
    int receiveMessage(int descriptor, long message) {
        try {
            return (int) (long) Handles.PLAIN_RECVMSG.invokeExact(descriptor, message, 0);
        } catch (Throwable e) {
            throw thrown(e);
        }
    }

    int close(int descriptor) {
        try {
            return result((int) Handles.CLOSE.invokeExact(errno, descriptor));
        } catch (Throwable e) {
            throw thrown(e);
        }
    }

    int epollCreate(int flags) {
        try {
            return result((int) Handles.EPOLL_CREATE.invokeExact(errno, flags));
        } catch (Throwable e) {
            throw thrown(e);
        }
    }

    int epollControl(int descriptor, int operation, int other, long event) {
        try {
            return result((int) Handles.EPOLL_CTL.invokeExact(errno, descriptor, operation, other, event));
        } catch (Throwable e) {
            throw thrown(e);
        }
    }

    int epollWait(int descriptor, long events, int most, int millis) {
        try {
            int ready = (int) Handles.PLAIN_EPOLL_WAIT.invokeExact(descriptor, events, most, millis);
            return ready >= 0
                    ? ready
                    : result((int) Handles.EPOLL_WAIT.invokeExact(errno, descriptor, events, most, millis));
        } catch (Throwable e) {
            throw thrown(e);
        }
    }

    int eventDescriptor(int value, int flags) {
        try {
            return result((int) Handles.EVENTFD.invokeExact(errno, value, flags));
        } catch (Throwable e) {
            throw thrown(e);
        }
    }

    int write(int descriptor, long from, long length) {
        try {
            return result((int) (long) Handles.WRITE.invokeExact(errno, descriptor, from, length));
        } catch (Throwable e) {
            throw thrown(e);
        }
    }

    /** Tells whether a call was interrupted by a signal, and is to be repeated. */
    static boolean isInterrupted(int result) {
        return result == -Errno.EINTR;
    }
}
