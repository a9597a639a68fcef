package org.kverbs.dsl

import org.kverbs.Context
import org.kverbs.Device

/**
 * Opens the first RDMA device. The caller closes the context; closing it closes everything that was made from it.
 *
 * @throws org.kverbs.DeviceNotFoundException if no device exists
 * @throws org.kverbs.LibraryUnavailableException if libibverbs is missing; the message names the package to install
 */
public fun openDevice(): Context = Device.first().open()

/**
 * Opens a device by its name, such as `mlx5_0` or `rxe0`.
 *
 * @throws org.kverbs.DeviceNotFoundException if no such device exists; the message names the devices that do
 */
public fun openDevice(name: String): Context = Device.byName(name).open()

/**
 * Opens a device by its node GUID, a number in host order: `0x506b4b0300c2d1a4`.
 *
 * @throws org.kverbs.DeviceNotFoundException if no such device exists; the message names the devices that do
 */
public fun openDevice(guid: Long): Context = Device.byGuid(guid).open()
