package org.kverbs.dsl

import org.kverbs.Context
import org.kverbs.DeviceMemory
import org.kverbs.MemoryRegion
import org.kverbs.ProtectionDomain
import org.kverbs.RemoteMemory

/**
 * Makes a context that shares objects with this one, within the process: `device.importTwin()` (ibv_import_device). The
 * caller closes it, before or after this context. Errors as [Context.duplicateDescriptor] and
 * [org.kverbs.Device.importContext].
 */
public fun Context.importTwin(): Context = device().importContext(duplicateDescriptor())

/**
 * Imports an open protection domain of the context that this one was imported from:
 * `twin.importProtectionDomain(pd)` (ibv_import_pd).
 * Errors as [Context.importProtectionDomain].
 */
public fun Context.importProtectionDomain(exported: ProtectionDomain): ProtectionDomain =
    importProtectionDomain(exported.kernelHandle())

/** Imports an open region of the exporter (ibv_import_mr); errors as [ProtectionDomain.importRegion]. */
public fun ProtectionDomain.importRegion(exported: MemoryRegion): MemoryRegion =
    importRegion(exported.kernelHandle(), exported.remote().address())

/**
 * Imports a region of another process: `domain.importRegion(handle, at = RemoteMemory.parse(line))`. The number and the
 * [RemoteMemory] of the region come from the exporter. Errors as [ProtectionDomain.importRegion].
 */
public fun ProtectionDomain.importRegion(
    kernelHandle: Int,
    at: RemoteMemory,
): MemoryRegion = importRegion(kernelHandle, at.address())

/** Imports open device memory of the exporter (ibv_import_dm); errors as [Context.importDeviceMemory]. */
public fun Context.importDeviceMemory(exported: DeviceMemory): DeviceMemory =
    importDeviceMemory(exported.kernelHandle(), exported.length())
