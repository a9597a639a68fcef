package org.kverbs.embedded.internal.verbs;

import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.objects.Handles;
import org.kverbs.embedded.internal.objects.Pd;
import org.kverbs.embedded.internal.objects.Structures;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvPd;

/** Makes and finds the protection domains of an open context; called with the lock held. */
final class Domains {

    private final Handles<Pd> domains;

    Domains(Hca hca, Structures structures) {
        this.domains = new Handles<>(structures, IbvPd.SIZE, IbvPd.HANDLE, hca.quotas.domains);
    }

    @Nullable Pd get(long pd) {
        return domains.get(pd);
    }

    long alloc() {
        return domains.add(Pd::new);
    }

    int dealloc(long pd) {
        Pd domain = domains.get(pd);
        if (domain == null || domain.users > 0) {
            return domain == null ? -Errno.EINVAL : -Errno.EBUSY;
        }
        domains.remove(pd);
        return 0;
    }
}
