package org.kverbs.benchmarks;

import org.kverbs.Context;
import org.openjdk.jmh.annotations.TearDown;

/** Holds the device that benchmarks of single calls open in their setup. */
public abstract class OnNullDevice extends Measured {

    Context context;

    /** Closes the device. */
    @TearDown
    public void close() {
        context.close();
    }
}
