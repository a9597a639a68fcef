package org.kverbs.efa

import org.kverbs.driver.StandInLibrary

/** Stands in for libefa and libibverbs. */
internal object StandIn : StandInLibrary("efa")
