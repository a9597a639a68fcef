package org.kverbs.embedded.internal.transport;

import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.objects.AsyncEvents;
import org.kverbs.embedded.internal.objects.OpenXrcDomain;

/**
 * A queue pair as a context knows it. An XRC_RECV queue pair can have several of these, of one context or of many; any
 * other has one.
 *
 * @param events takes the events of the queue pair
 * @param structure the address of the {@code struct ibv_qp}
 * @param opened the XRC domain through which an XRC_RECV queue pair was made or opened; null for any other
 */
public record QpHandle(AsyncEvents events, long structure, @Nullable OpenXrcDomain opened) {}
