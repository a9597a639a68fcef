/**
 * Native memory by its address: the one place that makes a segment out of a number. It knows no other room; who takes
 * it vouches for the address.
 */
@NullMarked
package org.kverbs.internal.memory;

import org.jspecify.annotations.NullMarked;
