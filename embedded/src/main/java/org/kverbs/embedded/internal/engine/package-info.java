/** The lock, the clock and the order of events of the embedded devices. */
@NullMarked
package org.kverbs.embedded.internal.engine;

import org.jspecify.annotations.NullMarked;
