/** How values are checked and printed: ranges, GUIDs, lines under each other. It knows no other room. */
@NullMarked
package org.kverbs.internal.values;

import org.jspecify.annotations.NullMarked;
