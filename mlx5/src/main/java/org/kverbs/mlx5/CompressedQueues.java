package org.kverbs.mlx5;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.kverbs.mlx5.internal.Libmlx5;
import org.kverbs.mlx5.internal.abi.Mlx5dvCqInitAttr;
import org.kverbs.spi.DriverObjects;
import org.kverbs.spi.VerbsContext;

/** Makes completion queues with the options of mlx5 ({@code man 3 mlx5dv_create_cq}). */
record CompressedQueues(Libmlx5 library, CqeOptions options) implements DriverObjects {

    @Override
    public String function() {
        return "mlx5dv_create_cq";
    }

    @Override
    public String needs() {
        return "The driver mlx5 has the call since rdma-core 14, and the devices differ in the options:"
                + " Mlx5Device.query().";
    }

    @Override
    public long create(VerbsContext verbs, MemorySegment initAttributes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment init = arena.allocate(Mlx5dvCqInitAttr.SIZE, JAVA_LONG.byteAlignment());
            options.writeTo(init);
            return library.createCq(verbs.nativeAddress(), initAttributes, init);
        }
    }
}
