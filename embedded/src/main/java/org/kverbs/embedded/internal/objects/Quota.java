package org.kverbs.embedded.internal.objects;

import org.kverbs.internal.Refusal;
import org.kverbs.internal.abi.Errno;

/**
 * Counts how much of a resource the open contexts of a device have together, up to a limit; called with the lock held.
 */
public final class Quota {

    private final String device;
    private final String things;
    private final String limit;
    private final long most;
    private long used;

    /**
     * @param things the resource as messages name it: {@code queue pairs}
     * @param limit the limit as messages name it: {@code max_qp}
     */
    Quota(String device, String things, String limit, long most) {
        this.device = device;
        this.things = things;
        this.limit = limit;
        this.most = most;
    }

    /** Makes a quota without a limit. */
    public static Quota none() {
        return new Quota("", "", "", Long.MAX_VALUE);
    }

    /** Takes a number of the resource. Returns 0, or -ENOMEM with the reason if that exceeds the limit. */
    public int take(long more) {
        if (more > most - used) {
            return Refusal.because(
                    Errno.ENOMEM,
                    "%s has %d of at most %d %s (%s), and %d more were requested:"
                                    .formatted(device, used, most, things, limit, more)
                            + " close some, or use a device with a higher limit.");
        }
        used += more;
        return 0;
    }

    public void giveBack(long less) {
        used -= less;
    }
}
