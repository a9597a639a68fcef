package org.kverbs.spi;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Ports through which programs send and receive management datagrams: the calls of libibumad ({@code man 3 umad_init}
 * and its neighbours), each of which names its C function. Results are {@code -errno} if they are negative. Ports and
 * agents are numbers from 0. Any thread may call.
 *
 * <p>A message is a header, {@code struct ib_user_mad} without its data, and the datagram behind it.
 */
public interface ManagementPorts {

    /** {@code umad_open_port}: opens a port of a device. Returns its number or -errno. */
    int openPort(String device, int port);

    /** {@code umad_close_port}. Returns 0 or -errno. */
    int closePort(int port);

    /**
     * {@code umad_register}, or {@code umad_register_oui} if there is an OUI. Returns the number of the agent or
     * -errno.
     *
     * @param oui three bytes, or null
     * @param methods 16 bytes with a bit for each method whose requests the agent gets, or {@link MemorySegment#NULL}
     */
    int register(int port, int mgmtClass, int version, int rmppVersion, byte @Nullable [] oui, MemorySegment methods);

    /** {@code umad_unregister}. Returns 0 or -errno. */
    int unregister(int port, int agent);

    /**
     * {@code umad_size}: the bytes of the header before a datagram, once a port is open: 64, or 56 where the kernel has
     * no index of partition keys.
     */
    int headerSize();

    /** {@code umad_send}. Returns 0 or -errno. */
    int send(int port, int agent, MemorySegment message, int length, int timeoutMillis, int retries);

    /**
     * {@code umad_recv} without waiting. Returns the number of the agent or -errno; -ENOSPC if {@code message} is too
     * short.
     *
     * @param length 4 bytes: the room behind the header, and afterwards the length of what came or of what needs room
     */
    int receive(int port, MemorySegment message, MemorySegment length);

    /** {@code umad_poll}. Returns 0 if something can be received, -ETIMEDOUT after the time, or -errno. */
    int poll(int port, int timeoutMillis);

    /**
     * {@code open(2)} of a device file such as {@code /dev/infiniband/issm0}, to read, without waiting for a program
     * that has it open. Returns a file descriptor or -errno.
     */
    int openFile(String file);

    /** {@code close(2)} of a descriptor of {@link #openFile}. */
    void closeFile(int descriptor);
}
