/**
 * RoCEv2 on the wire: packets, headers and checksums; and the headers of other Ethernet frames that flow rules read.
 */
@NullMarked
package org.kverbs.embedded.internal.wire;

import org.jspecify.annotations.NullMarked;
