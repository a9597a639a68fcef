package org.kverbs.dsl

/** This number of kibibytes, in bytes: `64.KiB` is 65536. */
public val Int.KiB: Long get() = toLong() shl 10

/** This number of mebibytes, in bytes. */
public val Int.MiB: Long get() = toLong() shl 20

/** This number of gibibytes, in bytes. */
public val Int.GiB: Long get() = toLong() shl 30
