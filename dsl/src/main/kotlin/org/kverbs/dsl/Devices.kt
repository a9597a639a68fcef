package org.kverbs.dsl

import org.kverbs.Context
import org.kverbs.Device

/**
 * Opens the first RDMA device there is. The caller closes it; everything made from it is closed with it.
 *
 * @throws org.kverbs.DeviceNotFoundException if there is none
 * @throws org.kverbs.LibraryUnavailableException if libibverbs is missing; says what to install
 */
public fun openDevice(): Context = Device.first().open()

/**
 * Opens the device of a name, such as `mlx5_0` or `rxe0`.
 *
 * @throws org.kverbs.DeviceNotFoundException if there is none; names those there are
 */
public fun openDevice(name: String): Context = Device.byName(name).open()

/** Opens the device with a node GUID, a number in host order: `0x506b4b0300c2d1a4`. */
public fun openDevice(guid: Long): Context = Device.byGuid(guid).open()
