/** The connection manager: InfiniBand's connection protocol on queue pair 1, and librdmacm's objects above it. */
@NullMarked
package org.kverbs.embedded.internal.cm;

import org.jspecify.annotations.NullMarked;
