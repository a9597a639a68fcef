package org.kverbs.dsl

/**
 * Owns what it is given and closes it in reverse order.
 *
 * For what isn't made from one device: several devices, sockets, arenas. What is made from a device is closed with it
 * anyway. For one thread.
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
         * Closes all, newest first, and gives what to throw: [failure] or the first exception, the others suppressed in
         * it.
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
 * Runs the block and closes what it owns in reverse order, however it ends. The block's exception is thrown with those
 * of closing suppressed in it; without one, the first exception of closing is.
 */
public inline fun <R> resourceScope(block: ResourceScope.() -> R): R {
    val scope = ResourceScope()
    val result =
        try {
            scope.block()
        } catch (e: Throwable) {
            throw scope.closeAll(e)!!
        }
    scope.closeAll(null)?.let { throw it }
    return result
}
