package org.kverbs.ibtool

/** Commands that load the classes and warm the functions that most commands share. */
internal val TRAINING: List<List<String>> =
    listOf(
        "ibstat",
        "ibaddr",
        "smpquery nodeinfo 1",
        "smpquery portinfo -D 0 1",
        "sminfo",
        "perfquery 1 1",
        "ibnetdiscover",
        "ibnetdiscover -p",
        "iblinkinfo",
        "ibqueryerrors",
        "ibhosts --json",
        "saquery",
        "ibroute -D 0,1",
        "ibtracert 1 2",
        "health",
        "check",
    ).map { it.split(' ') + listOf("--fabric", "hosts:6") } + listOf(listOf("--help"))

/** Runs commands on a simulated fabric, and prints nothing: the JVM makes the AOT cache of `./ibtool` from such a run. */
fun main(): Unit = TRAINING.forEach { ibtool(it, StringBuilder(), StringBuilder()) }
