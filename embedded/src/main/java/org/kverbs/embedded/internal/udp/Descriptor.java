package org.kverbs.embedded.internal.udp;

import java.lang.ref.Cleaner;

/**
 * A file descriptor of this process that is closed once: by its owner, or by the collector if the owner was forgotten.
 * The owner makes sure that no other thread uses the number when it closes it, since the next socket or file of the
 * process can get the same number.
 */
final class Descriptor {

    private static final Cleaner CLEANER = Cleaner.create();

    final int number;
    private final Cleaner.Cleanable close;

    /** @param owner uses the number, and is the only object that refers to this one */
    Descriptor(Object owner, int number) {
        this.number = number;
        this.close = CLEANER.register(owner, () -> new Libc().close(number));
    }

    /** Closes the descriptor if it is open. */
    void close() {
        close.clean();
    }
}
