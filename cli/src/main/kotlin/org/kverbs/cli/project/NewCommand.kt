package org.kverbs.cli.project

import com.github.ajalt.clikt.core.CliktError
import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.core.UsageError
import com.github.ajalt.clikt.parameters.arguments.argument
import java.io.IOException
import java.nio.file.Path

/** `kverbs new`: writes a project that builds. */
class NewCommand : CoreCliktCommand("new") {
    private val folder by argument("FOLDER", help = "The folder to make; its last name is the project's name")

    override fun help(context: Context) =
        """
        Write a project to begin with: an echo service in Kotlin, its test, and a pom for Maven.

        Example: kverbs new my-app
        """.trimIndent()

    override fun run() {
        val project =
            try {
                NewProject(Path.of(folder))
            } catch (e: IllegalArgumentException) {
                throw UsageError(e.message.orEmpty(), "FOLDER").also {
                    it.context = currentContext
                    it.addSuppressed(e)
                }
            }
        try {
            project.write()
        } catch (e: FileAlreadyExistsException) {
            throw CliktError("kverbs: ${e.file} is there already: give the name of a folder that does not exist", e)
        } catch (e: IOException) {
            throw CliktError("kverbs: $folder can't be written: ${e.message}", e)
        }
        echo("$folder has an echo service and its test. Build them: cd $folder && mvn verify")
        echo("$folder/README.md says how to run them.")
        if (project.isSnapshot) {
            echo("There is no release of kverbs yet. In the checkout of kverbs, do this first: mvn -DskipTests install")
        }
    }
}
