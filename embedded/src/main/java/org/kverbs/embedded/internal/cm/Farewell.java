package org.kverbs.embedded.internal.cm;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * Ends the connections to other processes when the JVM ends, as a kernel does for a process that dies with open
 * connections. The peers learn it at once, instead of at their next send. Each peer gets at most one packet: the JVM
 * does not wait for answers, and a killed JVM sends nothing.
 *
 * <p>The program's own shutdown hooks run at the same time, in no order.
 */
final class Farewell {

    /** How long the farewells may delay the end of the JVM if other threads hold the devices' locks. */
    private static final long PATIENCE = TimeUnit.MILLISECONDS.toNanos(500);

    private static final Set<Connection> CONNECTIONS = ConcurrentHashMap.newKeySet();
    private static boolean registered;

    private Farewell() {}

    /** Keeps a connection until {@link #remove}, unless its peer is in this process. */
    static void add(Connection connection) {
        if (connection.remote.port().leadsToOtherProcesses()) {
            CONNECTIONS.add(connection);
            register();
        }
    }

    static void remove(Connection connection) {
        CONNECTIONS.remove(connection);
    }

    private static synchronized void register() {
        if (registered) {
            return;
        }
        registered = true;
        try {
            Runtime.getRuntime().addShutdownHook(new Thread(Farewell::say, "kverbs-farewell"));
        } catch (IllegalStateException e) {
            // The JVM is ending already: the code that connects now must also disconnect.
        }
    }

    private static void say() {
        long deadline = System.nanoTime() + PATIENCE;
        for (Connection connection : CONNECTIONS) {
            try {
                if (connection.engine().tryEnter(deadline - System.nanoTime())) {
                    sayTo(connection);
                }
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    private static void sayTo(Connection connection) {
        try {
            connection.processEnds();
        } finally {
            connection.engine().leave();
        }
    }
}
