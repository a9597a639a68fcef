/** The calls of libefa. */
@NullMarked
package org.kverbs.efa.internal;

import org.jspecify.annotations.NullMarked;
