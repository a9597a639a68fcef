package org.kverbs.embedded.internal.cm;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * Ends the connections to other processes when the JVM ends, as a kernel does for a process that dies with connections
 * open: their peers hear of it at once, and not only when they send something. One packet each, at best: nobody waits
 * for answers, and a JVM that is killed says nothing.
 *
 * <p>A program's own shutdown hooks run at the same time, in no order.
 */
final class Farewell {

    /** How long all of it may hold up the end, should other threads not let go of the devices. */
    private static final long PATIENCE = TimeUnit.MILLISECONDS.toNanos(500);

    private static final Set<Connection> CONNECTIONS = ConcurrentHashMap.newKeySet();
    private static boolean registered;

    private Farewell() {}

    /** Keeps a connection in mind until {@link #remove}, unless its peer ends with this process. */
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
            // The JVM is ending already: what is connected now is the business of who does that.
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
