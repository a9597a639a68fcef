package org.kverbs.ibtool.session

import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.parameters.options.versionOption

/** Gives a command the option `-V`, as all commands have it. */
internal fun CoreCliktCommand.offerVersion() {
    val version = javaClass.getPackage().implementationVersion ?: "(run from class files, not from its jar)"
    versionOption(version, names = setOf("-V", "--version")) { "$commandName of kverbs $it" }
}
