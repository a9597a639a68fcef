package org.kverbs.coroutines

import org.kverbs.ProtectionDomain

/**
 * Refuses a domain whose queue pairs the dispatcher cannot serve. In a thread domain the driver takes no locks, and
 * relies on one thread at a time; but the polling thread and the threads of the callers use a queue pair together.
 */
internal fun CompletionDispatcher.requireDispatchable(pd: ProtectionDomain) {
    require(pd.context() === context) {
        "${pd.describe()} belongs to another open device than the dispatcher; make both from one context"
    }
    require(pd.threadDomain() == null) {
        "the ${pd.describe()} has a thread domain, which only one thread at a time can use, and a dispatcher's queue " +
            "pairs are used by its polling thread and by the threads of the callers: take the domain's parent(), or " +
            "a parentDomain() without a thread domain"
    }
}
