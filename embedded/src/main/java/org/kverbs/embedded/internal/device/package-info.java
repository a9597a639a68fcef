/** The device: its objects, their state machines, and what each packet does to them. */
@NullMarked
package org.kverbs.embedded.internal.device;

import org.jspecify.annotations.NullMarked;
