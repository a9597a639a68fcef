package org.kverbs.mlx5

import org.kverbs.driver.StandInLibrary

/** Stands in for libmlx5 and libibverbs. */
internal object StandIn : StandInLibrary("mlx5")
