package org.kverbs.acceptance.lab

import java.util.concurrent.CompletableFuture

/**
 * Runs [block] on a new thread. The common pool, CompletableFuture's default, has one thread on the lab's two
 * processors: a task that waits there for a program's end would keep out the tasks that must run before.
 */
internal fun <T> inThread(block: () -> T): CompletableFuture<T> =
    CompletableFuture.supplyAsync({ block() }, { Thread.ofPlatform().daemon().start(it) })
