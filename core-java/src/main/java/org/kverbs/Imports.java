package org.kverbs;

import org.kverbs.attributes.Feature;
import org.kverbs.internal.Lifetime;
import org.kverbs.internal.Lifetime.Turn;
import org.kverbs.internal.abi.IbvMr;
import org.kverbs.internal.memory.Memory;
import org.kverbs.internal.values.Ranges;
import org.kverbs.spi.ImportVerbs;

/** Makes domains, regions and device memory that stand for those of another context. */
final class Imports {

    private Imports() {}

    static ProtectionDomain domain(Context context, int handle) {
        String operation = "ibv_import_pd(%s, handle=%d)".formatted(context.device().name(), handle);
        return Resource.create(
                errno -> context.refusal(Feature.IMPORT, operation, errno),
                () -> verbs(context).importPd(handle),
                h -> ProtectionDomain.imported(context, h),
                context);
    }

    static MemoryRegion region(ProtectionDomain pd, int handle, long requestAddress) {
        String operation = "ibv_import_mr(%s, handle=%d)".formatted(pd.context().device().name(), handle);
        return Resource.create(
                errno -> pd.context().refusal(Feature.IMPORT, operation, errno),
                () -> verbs(pd.context()).importMemory(pd.handle(), handle),
                h -> new MemoryRegion(
                        pd, h, RegionKind.IMPORTED, Memory.getLong(h + IbvMr.LENGTH), requestAddress, 0,
                        new Lifetime(Turn.MEMORY, pd.lifetime)),
                pd);
    }

    static DeviceMemory deviceMemory(Context context, int handle, long length) {
        Ranges.require("length", length, 1, Long.MAX_VALUE);
        String operation = "ibv_import_dm(%s, handle=%d)".formatted(context.device().name(), handle);
        return Resource.create(
                errno -> context.refusal(Feature.IMPORT, operation, errno),
                () -> verbs(context).importDeviceMemory(handle),
                h -> new DeviceMemory(context, h, length, true),
                context);
    }

    private static ImportVerbs verbs(Context context) {
        return context.verbs.imports();
    }
}
