package org.kverbs.cli.project

import java.nio.file.Path
import kotlin.io.path.createDirectory
import kotlin.io.path.createParentDirectories
import kotlin.io.path.exists
import kotlin.io.path.name
import kotlin.io.path.writeText

/**
 * A project for Maven with an echo service and its test, from the templates in this package's resources.
 *
 * @param folder where it is to be; its last name is the project's
 * @throws IllegalArgumentException if that is no name for a project
 */
internal class NewProject(
    private val folder: Path,
) {
    private val name = folder.toAbsolutePath().normalize().name
    private val version = NewProject::class.java.getPackage().implementationVersion ?: "0.1.0-SNAPSHOT"

    /** True if the project depends on a version of kverbs that no repository has. */
    val isSnapshot get() = version.endsWith("-SNAPSHOT")

    init {
        require(NAME.matches(name)) {
            "\"$name\" is no name for a project: take letters, digits, '.', '-' and '_', a letter first"
        }
    }

    /**
     * Writes it.
     *
     * @throws FileAlreadyExistsException if there is something at [folder], which stays as it is
     * @throws java.io.IOException if a file can't be written
     */
    fun write() {
        if (folder.exists()) throw FileAlreadyExistsException(folder.toFile())
        folder.createParentDirectories().createDirectory()
        for ((template, file) in files) folder.resolve(file).createParentDirectories().writeText(text(template))
    }

    private fun text(template: String): String {
        val resource = checkNotNull(NewProject::class.java.getResource(template)) { "no template $template" }
        return resource
            .readText()
            .replace("@name@", name)
            .replace("@kverbs@", version)
            .replace("@kotlin@", KotlinVersion.CURRENT.toString())
    }

    private companion object {
        val NAME = Regex("[A-Za-z][A-Za-z0-9._-]*")

        val files =
            mapOf(
                "pom.xml" to "pom.xml",
                "README.md" to "README.md",
                "gitignore" to ".gitignore",
                "Echo.kt" to "src/main/kotlin/example/Echo.kt",
                "EchoSpec.kt" to "src/test/kotlin/example/EchoSpec.kt",
            )
    }
}
