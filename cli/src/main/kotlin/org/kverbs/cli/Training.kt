package org.kverbs.cli

/** Commands that load the classes, and warm the functions, that most commands share. */
internal val TRAINING: List<List<String>> =
    listOf(
        "devices",
        "devices --json",
        "devinfo -v",
        "help",
        "perf read-lat --local --transport memory --iters 100 --warm-up 10",
        "pingpong --device embedded0 --iters 100 --warm-up 10",
    ).map { it.split(' ') }

/** Runs commands, and prints nothing: the JVM makes the AOT cache of `./kverbs` from such a run. */
fun main(): Unit = TRAINING.forEach { kverbs(it, StringBuilder(), StringBuilder()) }
