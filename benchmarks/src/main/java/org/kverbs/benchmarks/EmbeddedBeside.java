package org.kverbs.benchmarks;

/**
 * Sends between two embedded devices before calls of the native provider are measured. A program can use both kinds of
 * devices, and the JIT then compiles the calls for both.
 */
final class EmbeddedBeside {

    private static final int ROUNDS = 20_000;

    private EmbeddedBeside() {}

    /** Sends as many messages as the JIT needs to compile the calls. */
    static void use() throws InterruptedException {
        var devices = new Moving();
        devices.open();
        try {
            for (int i = 0; i < ROUNDS; i++) {
                devices.oneSend();
            }
        } finally {
            devices.close();
        }
    }
}
