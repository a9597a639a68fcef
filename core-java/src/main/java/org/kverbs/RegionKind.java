package org.kverbs;

/** The kinds of memory regions, by what their bytes are. */
enum RegionKind {
    /** Memory of this process that the program gave, or that the region owns. */
    PROGRAM("memory region", ""),
    /** No memory: {@code ibv_alloc_null_mr}. */
    NULL("null region", "requests read zeros from it, and what they write to it is dropped"),
    /** Whatever memory of this process the program uses it for: implicit on-demand paging. */
    IMPLICIT("implicit region", "it is the whole address space: take slice(MemorySegment) or remote(MemorySegment)"),
    /** Memory of the device: {@code ibv_reg_dm_mr}. */
    DEVICE("region of device memory",
            "its bytes are in the device: DeviceMemory.copyTo and copyFrom read and write them"),
    /** A region of another context: {@code ibv_import_mr}. */
    IMPORTED("imported region", "its bytes are memory of the exporter"),
    /** Memory of another device: {@code ibv_reg_dmabuf_mr}. */
    DMABUF("region of a dma-buf", "its bytes are those of the dma-buf, and this process need not have them mapped");

    final String noun;
    /** Why {@link MemoryRegion#memory} gives none; empty if it does. */
    final String reason;

    RegionKind(String noun, String reason) {
        this.noun = noun;
        this.reason = reason;
    }
}
