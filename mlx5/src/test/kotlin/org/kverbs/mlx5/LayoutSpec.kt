package org.kverbs.mlx5

import org.kverbs.driver.LayoutChecks

/** Checks the layouts and the releases of this module against libmlx5 and its header. */
class LayoutSpec : LayoutChecks("mlx5", Mlx5::class, RELEASES)

/** The first release of rdma-core with the functions of each symbol version. */
private val RELEASES =
    mapOf("MLX5_1.0" to 13, "MLX5_1.1" to 14, "MLX5_1.3" to 16, "MLX5_1.8" to 22, "MLX5_1.10" to 24)
