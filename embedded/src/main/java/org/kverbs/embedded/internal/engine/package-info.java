/** Time, the lock and the order in which things happen. */
@NullMarked
package org.kverbs.embedded.internal.engine;

import org.jspecify.annotations.NullMarked;
