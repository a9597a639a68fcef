/** RoCEv2 on the wire: packets, headers and checksums. */
@NullMarked
package org.kverbs.embedded.internal.wire;

import org.jspecify.annotations.NullMarked;
