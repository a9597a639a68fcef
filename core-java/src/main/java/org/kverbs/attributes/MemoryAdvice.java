package org.kverbs.attributes;

import org.kverbs.internal.abi.IbUverbsAdviseMrAdvice;

/** Advice on the pages of a region that is paged on demand: {@code enum ibv_advise_mr_advice} (ibv_advise_mr(3)). */
public enum MemoryAdvice {
    /** The device is going to read the pages: they are brought in for reading. */
    PREFETCH(IbUverbsAdviseMrAdvice.IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH),
    /** The device is going to write to the pages: they are brought in for reading and writing. */
    PREFETCH_WRITE(IbUverbsAdviseMrAdvice.IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE),
    /** The device gets the pages that are in memory already, for reading. The others are not brought in. */
    PREFETCH_NO_FAULT(IbUverbsAdviseMrAdvice.IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT);

    private final int code;

    MemoryAdvice(int code) {
        this.code = code;
    }

    /** Returns the number of this advice in {@code enum ibv_advise_mr_advice}. */
    public int code() {
        return code;
    }
}
