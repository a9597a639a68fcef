package org.kverbs.dsl

import org.kverbs.Context
import org.kverbs.Device
import org.kverbs.DevicePort

/**
 * Opens the first RDMA device. The caller closes the context; closing it closes everything that was made from it.
 *
 * @throws org.kverbs.DeviceNotFoundException if no device exists
 * @throws org.kverbs.LibraryUnavailableException if libibverbs is missing; the message names the package to install
 */
public fun openDevice(): Context = Device.first().open()

/**
 * Opens a device by its name (`mlx5_0`), the name of one of its ports (`mlx5_0/1`), the GUID of a port or of the device
 * (`0002:c903:0000:1491`), or a GID of a port (`fe80::2:c903:0:1491`, `10.0.0.1`); see [DevicePort.find].
 *
 * @throws org.kverbs.DeviceNotFoundException if no such device exists; the message names the devices that do
 */
public fun openDevice(name: String): Context = DevicePort.find(name).device().open()

/**
 * Opens a device by its node GUID, a number in host order: `0x506b4b0300c2d1a4`.
 *
 * @throws org.kverbs.DeviceNotFoundException if no such device exists; the message names the devices that do
 */
public fun openDevice(guid: Long): Context = Device.byGuid(guid).open()
