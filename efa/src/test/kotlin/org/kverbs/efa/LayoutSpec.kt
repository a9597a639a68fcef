package org.kverbs.efa

import org.kverbs.driver.LayoutChecks

/** Checks the layouts and the releases of this module against libefa and its header. */
class LayoutSpec : LayoutChecks("efa", Efa::class, RELEASES)

/** The first release of rdma-core with the functions of each symbol version. */
private val RELEASES =
    mapOf("EFA_1.0" to 24, "EFA_1.1" to 26, "EFA_1.2" to 43)
