/**
 * Events of Java Flight Recorder. {@link org.kverbs.internal.jfr.FlightRecords} is the door, and the only class here
 * that runs without the JDK's module {@code jdk.jfr}: the event classes are loaded when an event is recorded first.
 *
 * <p>The package depends on no other package of kverbs.
 */
@NullMarked
package org.kverbs.internal.jfr;

import org.jspecify.annotations.NullMarked;
