/**
 * The embedded device: RDMA without hardware, in pure Java. It implements {@link org.kverbs.spi} on the C structures of
 * verbs.h, so that all modules above run on it as on a network card.
 */
@NullMarked
package org.kverbs.embedded;

import org.jspecify.annotations.NullMarked;
