package org.kverbs.dsl

/**
 * Owns resources and closes them in reverse order.
 *
 * Use it for several devices, sockets or arenas. Closing a device already closes everything that was made from it. For
 * one thread.
 */
@RdmaDsl
public class ResourceScope
    @PublishedApi
    internal constructor() {
        private val owned = ArrayDeque<AutoCloseable>()

        /** Takes ownership: `val device = own(openDevice())`. */
        public fun <T : AutoCloseable> own(resource: T): T {
            owned.addLast(resource)
            return resource
        }

        /**
         * Closes all resources, newest first. Returns what to throw: [failure] or the first exception of a close, with
         * the others suppressed in it.
         */
        @PublishedApi
        internal fun closeAll(failure: Throwable?): Throwable? {
            var first = failure
            while (owned.isNotEmpty()) {
                try {
                    owned.removeLast().close()
                } catch (e: Throwable) {
                    first?.addSuppressed(e) ?: run { first = e }
                }
            }
            return first
        }
    }

/**
 * Runs the block and then closes the resources that it owns, in reverse order, also after an exception. Exceptions of
 * closing are suppressed in the exception of the block. If the block succeeds, the first exception of closing is
 * thrown.
 */
public inline fun <R> resourceScope(block: ResourceScope.() -> R): R {
    val scope = ResourceScope()
    val result =
        try {
            scope.block()
        } catch (e: Throwable) {
            throw scope.closeAll(e) ?: e
        }
    scope.closeAll(null)?.let { throw it }
    return result
}
