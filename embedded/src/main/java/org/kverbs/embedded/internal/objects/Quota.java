package org.kverbs.embedded.internal.objects;

import org.kverbs.internal.Refusal;
import org.kverbs.internal.abi.Errno;

/** How much of something the open contexts of a device have together, and how much they may; with the lock. */
public final class Quota {

    private final String device;
    private final String things;
    private final String limit;
    private final long most;
    private long used;

    /**
     * @param things as a message names them: {@code queue pairs}
     * @param limit as a message names it: {@code max_qp}
     */
    Quota(String device, String things, String limit, long most) {
        this.device = device;
        this.things = things;
        this.limit = limit;
        this.most = most;
    }

    /** For what has no limit. */
    public static Quota none() {
        return new Quota("", "", "", Long.MAX_VALUE);
    }

    /** Takes so much of it. Returns 0, or -ENOMEM with the reason if it is too much. */
    public int take(long more) {
        if (more > most - used) {
            return Refusal.because(
                    Errno.ENOMEM,
                    "%s has %d of at most %d %s (%s), and was asked for %d more."
                            .formatted(device, used, most, things, limit, more));
        }
        used += more;
        return 0;
    }

    public void giveBack(long less) {
        used -= less;
    }
}
