package org.kverbs.cli

import com.github.ajalt.clikt.core.ParameterHolder
import com.github.ajalt.clikt.parameters.options.option

/** The option that names a device, the same for all commands; `--ib-dev` is what the C programs call it. */
internal fun ParameterHolder.deviceOption(help: String) =
    option("-d", "--device", "--ib-dev", metavar = "NAME", help = help)
