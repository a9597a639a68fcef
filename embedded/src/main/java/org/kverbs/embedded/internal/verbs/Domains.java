package org.kverbs.embedded.internal.verbs;

import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.Operation;
import org.kverbs.embedded.internal.objects.Handles;
import org.kverbs.embedded.internal.objects.Pd;
import org.kverbs.embedded.internal.objects.Quota;
import org.kverbs.embedded.internal.objects.Structures;
import org.kverbs.embedded.internal.objects.Td;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvParentDomainInitAttr;
import org.kverbs.internal.abi.IbvPd;
import org.kverbs.internal.abi.IbvTdInitAttr;
import org.kverbs.internal.memory.Memory;

/**
 * Makes and finds the protection domains, parent domains and thread domains of an open context; called with the lock
 * held. A parent domain counts as a protection domain for the device's limit. The device takes its lock for every call,
 * so a thread domain changes nothing but what can be destroyed when.
 */
final class Domains {

    /** The size of {@code struct ibv_td} of this device: a context pointer, and the number of the object. */
    private static final int THREAD_DOMAIN_SIZE = 2 * Long.BYTES;

    private final Hca hca;
    private final Handles<Pd> domains;
    private final Handles<Td> threads;

    Domains(Hca hca, Structures structures) {
        this.hca = hca;
        this.domains = new Handles<>(structures, IbvPd.SIZE, IbvPd.HANDLE, hca.quotas.domains);
        this.threads = new Handles<>(structures, THREAD_DOMAIN_SIZE, Long.BYTES, Quota.none());
    }

    @Nullable Pd get(long pd) {
        return domains.get(pd);
    }

    Handles<Pd> table() {
        return domains;
    }

    long alloc() {
        return domains.add(Pd::new);
    }

    int dealloc(long pd) {
        Pd domain = domains.get(pd);
        if (domain == null || domains.isImported(pd) || domain.users > 0) {
            return domain == null || domains.isImported(pd) ? -Errno.EINVAL : -Errno.EBUSY;
        }
        domains.remove(pd);
        if (domain.parent != null) {
            domain.parent.users--;
        }
        if (domain.threads != null) {
            domain.threads.users--;
        }
        return 0;
    }

    /** Makes a thread domain by a {@code struct ibv_td_init_attr}. */
    long allocThreads(long init) {
        int refusal = hca.refuse(Operation.ALLOCATE_THREAD_DOMAIN);
        if (refusal < 0) {
            return refusal;
        }
        return Memory.getInt(init + IbvTdInitAttr.COMP_MASK) == 0 ? threads.add(at -> new Td()) : -Errno.EINVAL;
    }

    int deallocThreads(long td) {
        Td found = threads.get(td);
        if (found == null || found.users > 0) {
            return found == null ? -Errno.EINVAL : -Errno.EBUSY;
        }
        threads.remove(td);
        return 0;
    }

    /**
     * Makes a parent domain by a {@code struct ibv_parent_domain_init_attr}. Allocators are refused: this device
     * allocates nothing that a program could give.
     */
    long allocParent(long init) {
        int refusal = hca.refuse(Operation.ALLOCATE_PARENT_DOMAIN);
        if (refusal < 0) {
            return refusal;
        }
        if (Memory.getInt(init + IbvParentDomainInitAttr.COMP_MASK) != 0) {
            return -Errno.EOPNOTSUPP;
        }
        long td = Memory.getLong(init + IbvParentDomainInitAttr.TD);
        Td thread = threads.get(td);
        Pd parent = domains.get(Memory.getLong(init + IbvParentDomainInitAttr.PD));
        if (parent == null || td != 0 && thread == null) {
            return -Errno.EINVAL;
        }
        long made = domains.add(at -> new Pd(at, parent, thread));
        if (made > 0) {
            parent.users++;
            if (thread != null) {
                thread.users++;
            }
        }
        return made;
    }
}
