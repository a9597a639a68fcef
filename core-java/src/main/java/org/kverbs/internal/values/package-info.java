/** Checks and prints values: ranges, GUIDs, aligned lines. It depends on no other package of kverbs. */
@NullMarked
package org.kverbs.internal.values;

import org.jspecify.annotations.NullMarked;
