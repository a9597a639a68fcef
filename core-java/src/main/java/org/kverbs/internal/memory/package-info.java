/**
 * Native memory by its address. Only this package makes a segment from a number. It depends on no other package of
 * kverbs. Its callers guarantee that an address is valid.
 */
@NullMarked
package org.kverbs.internal.memory;

import org.jspecify.annotations.NullMarked;
