package org.kverbs.efa;

import org.kverbs.WorkCompletion;
import org.kverbs.efa.internal.abi.EfadvWcEx;
import org.kverbs.spi.CompletionExtras;

/** What the completions of receives have on queues of {@link EfaDevice#completionQueue} alone. */
public enum EfaCompletionField {
    /**
     * The GID of a sender for whom there is no address handle: {@link WorkCompletion#sourceGid} (EFADV_WC_EX_WITH_SGID;
     * rdma-core 43). {@link EfaAttributes#hasSourceGid} tells whether the device has it.
     */
    SOURCE_GID(EfadvWcEx.EFADV_WC_EX_WITH_SGID, CompletionExtras.WITH_SOURCE_GID),
    /**
     * Whether a write with immediate came without a receive request: {@link WorkCompletion#isUnsolicited}
     * (EFADV_WC_EX_WITH_IS_UNSOLICITED; rdma-core 52).
     */
    UNSOLICITED(1 << 1, CompletionExtras.WITH_UNSOLICITED); // the headers of rdma-core 44 lack this flag

    final int flag;
    final int field;

    EfaCompletionField(int flag, int field) {
        this.flag = flag;
        this.field = field;
    }
}
