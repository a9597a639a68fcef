/** Carries RoCEv2 over UDP sockets: between processes and hosts, and to Soft-RoCE and network cards. */
@NullMarked
package org.kverbs.embedded.internal.udp;

import org.jspecify.annotations.NullMarked;
