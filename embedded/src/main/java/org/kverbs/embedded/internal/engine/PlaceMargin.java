package org.kverbs.embedded.internal.engine;

/**
 * Keeps what is before a {@link Place} in memory off the cache lines of its mark. The fields of a superclass come
 * first.
 */
@SuppressWarnings("unused")
abstract class PlaceMargin {
    private long m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15;
}
