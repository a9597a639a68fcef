package org.kverbs.acceptance

/** Options of a JVM that ends after seconds: the second compiler and threads that collect cost more than they save. */
internal val SHORT_RUN = listOf("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")

/** The environment of `./kverbs` for a [SHORT_RUN]. */
internal val SHORT_KVERBS = mapOf("KVERBS_JAVA_OPTIONS" to SHORT_RUN.joinToString(" "))
