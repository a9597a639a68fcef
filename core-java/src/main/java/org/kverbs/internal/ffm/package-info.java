/**
 * The only package that calls native code: libibverbs, librdmacm and the few functions of the C library that waiting
 * needs.
 *
 * <p>One small method a native function, with its man page and its errno rule. Not part of the public API.
 */
@NullMarked
package org.kverbs.internal.ffm;

import org.jspecify.annotations.NullMarked;
