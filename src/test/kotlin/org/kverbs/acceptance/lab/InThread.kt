package org.kverbs.acceptance.lab

import java.util.concurrent.CompletableFuture

/**
 * Runs [block] on a thread of its own. The common pool, where CompletableFuture runs things otherwise, has one thread
 * on the lab's two processors: what waits there for a program's end keeps out what should come before that.
 */
internal fun <T> inThread(block: () -> T): CompletableFuture<T> =
    CompletableFuture.supplyAsync({ block() }, { Thread.ofPlatform().daemon().start(it) })
