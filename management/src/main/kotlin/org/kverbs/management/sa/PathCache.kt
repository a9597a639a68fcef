package org.kverbs.management.sa

private const val MOST = 4096

/** The paths that were found last, by their ends. */
internal class PathCache {
    private val paths =
        object : LinkedHashMap<Pair<Any, Any>, SaPath>(16, 0.75f, true) {
            override fun removeEldestEntry(eldest: Map.Entry<Pair<Any, Any>, SaPath>) = size > MOST
        }

    operator fun get(
        from: Any,
        to: Any,
    ): SaPath? = synchronized(paths) { paths[from to to] }

    operator fun set(
        from: Any,
        to: Any,
        path: SaPath,
    ) {
        synchronized(paths) { paths[from to to] = path }
    }

    fun clear(): Unit = synchronized(paths) { paths.clear() }
}
