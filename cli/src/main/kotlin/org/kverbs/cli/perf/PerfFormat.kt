package org.kverbs.cli.perf

/** The form of the results: perftest's table for people, or lines for programs. */
internal enum class PerfFormat { TABLE, CSV, JSON }
