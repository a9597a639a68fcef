package org.kverbs.embedded.internal.objects;

import org.kverbs.embedded.DeviceLimits;

/** Holds the quotas that the open contexts of a device share. */
public final class Quotas {

    public final Quota queuePairs;
    public final Quota completionQueues;
    public final Quota sharedReceiveQueues;
    public final Quota regions;
    public final Quota windows;
    public final Quota addressHandles;
    public final Quota domains;
    public final Quota lockedBytes;
    public final Quota deviceMemory;
    public final Quota flowRules;
    public final Quota flowCounters;
    public final Quota flowActions;
    public final Quota workQueues;
    public final Quota indirectionTables;

    Quotas(String device, DeviceLimits limits) {
        queuePairs = new Quota(device, "queue pairs", "max_qp", limits.queuePairs());
        completionQueues = new Quota(device, "completion queues", "max_cq", limits.completionQueues());
        sharedReceiveQueues = new Quota(device, "shared receive queues", "max_srq", limits.sharedReceiveQueues());
        regions = new Quota(device, "memory regions", "max_mr", limits.memoryRegions());
        windows = new Quota(device, "memory windows", "max_mw", limits.memoryRegions());
        addressHandles = new Quota(device, "address handles", "max_ah", limits.memoryRegions());
        domains = new Quota(device, "protection domains", "max_pd", limits.protectionDomains());
        lockedBytes = new Quota(device, "bytes registered", "lockedBytes of its DeviceLimits", limits.lockedBytes());
        deviceMemory = new Quota(device, "bytes of device memory", "max_dm_size", Limits.DEVICE_MEMORY);
        flowRules = new Quota(device, "flow rules", "as verbs.h has no attribute for them", Limits.FLOWS);
        flowCounters =
                new Quota(device, "counters of flow rules", "as verbs.h has no attribute for them", Limits.FLOWS);
        flowActions =
                new Quota(device, "flow actions", "as verbs.h has no attribute for them", Limits.FLOWS);
        workQueues = new Quota(device, "work queues", "max_wq_type_rq", Limits.WORK_QUEUES);
        indirectionTables =
                new Quota(device, "indirection tables", "max_rwq_indirection_tables", Limits.TABLES);
    }
}
