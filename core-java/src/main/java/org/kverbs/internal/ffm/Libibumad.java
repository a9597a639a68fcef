package org.kverbs.internal.ffm;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.kverbs.LibraryUnavailableException;
import org.kverbs.RdmaSystemException;
import org.kverbs.internal.ErrorAdvice;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.ffm.NativeLibrary.Function;
import org.kverbs.spi.ManagementPorts;

/**
 * The functions of libibumad.so.3, one method each ({@code man 3 umad_init} and its neighbours). Safe for any thread.
 */
final class Libibumad implements ManagementPorts {

    /**
     * The system property that names another file or path of the library, for an installation outside the system's
     * folders.
     */
    static final String FILE_PROPERTY = "kverbs.libibumad";

    private final NativeLibrary library = NativeLibrary.load(System.getProperty(FILE_PROPERTY, "libibumad.so.3"));
    private final Function openPort = library.function("umad_open_port");
    private final Function closePort = library.function("umad_close_port");
    private final Function register = library.function("umad_register");
    private final Function registerOui = library.function("umad_register_oui");
    private final Function unregister = library.function("umad_unregister");
    private final Function size = library.function("umad_size");
    private final Function send = library.function("umad_send");
    private final Function receive = library.function("umad_recv");
    private final Function poll = library.function("umad_poll");

    /**
     * Loads the library.
     *
     * @throws LibraryUnavailableException if it cannot be loaded
     * @throws RdmaSystemException if the kernel's interface is not one that it knows
     */
    Libibumad() {
        int result = result(Downcalls.withErrno(library.function("umad_init").address(), 0));
        if (result < 0) {
            throw new RdmaSystemException("umad_init()", -result, ErrorAdvice.ofCall("umad_init", -result));
        }
    }

    @Override
    public int openPort(String device, int port) {
        try (Arena arena = Arena.ofConfined()) {
            return result(Downcalls.withErrno(
                    openPort.address(), arena.allocateFrom(device).address(), port));
        }
    }

    @Override
    public int closePort(int port) {
        return result(Downcalls.withErrno(closePort.address(), port));
    }

    @Override
    public int register(
            int port, int mgmtClass, int version, int rmppVersion, byte @Nullable [] oui, MemorySegment methods) {
        if (oui == null) {
            return result(Downcalls.withErrno(
                    register.address(), port, mgmtClass, version, rmppVersion, methods.address()));
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment bytes = arena.allocate(oui.length).copyFrom(MemorySegment.ofArray(oui));
            return result(Downcalls.withErrno(
                    registerOui.address(), port, mgmtClass, rmppVersion, bytes.address(), methods.address()));
        }
    }

    @Override
    public int unregister(int port, int agent) {
        return result(Downcalls.withErrno(unregister.address(), port, agent));
    }

    @Override
    public int headerSize() {
        return (int) Downcalls.call(size.address(), 0);
    }

    @Override
    public int send(int port, int agent, MemorySegment message, int length, int timeoutMillis, int retries) {
        return result(Downcalls.withErrno(
                send.address(), port, agent, message.address(), length, timeoutMillis, retries));
    }

    @Override
    public int receive(int port, MemorySegment message, MemorySegment length) {
        return result(Downcalls.withErrno(receive.address(), port, message.address(), length.address(), 0));
    }

    @Override
    public int poll(int port, int timeoutMillis) {
        return result(Downcalls.withErrno(poll.address(), port, timeoutMillis));
    }

    @Override
    public int openFile(String file) {
        return Libc.openToRead(file);
    }

    @Override
    public void closeFile(int descriptor) {
        Libc.close(descriptor);
    }

    /**
     * The library returns errno negated. Of a failed system call it mostly returns -EIO or -EPERM, and the reason is in
     * errno; with other results errno can be from a call that did not matter.
     */
    private static int result(long result) {
        int code = (int) result;
        int errno = Downcalls.errno(result);
        return (code == -Errno.EIO || code == -Errno.EPERM) && errno != 0 ? -errno : code;
    }
}
