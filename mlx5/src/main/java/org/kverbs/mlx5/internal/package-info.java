/** The calls of libmlx5. */
@NullMarked
package org.kverbs.mlx5.internal;

import org.jspecify.annotations.NullMarked;
