package org.kverbs.acceptance

import com.tngtech.archunit.core.domain.Dependency
import com.tngtech.archunit.core.domain.JavaClass
import com.tngtech.archunit.core.domain.JavaClasses
import com.tngtech.archunit.core.importer.ClassFileImporter
import java.io.File

/** The classes of the modules, as their builds have left them, without their tests. */
internal class Modules(
    root: File,
    names: Collection<String>,
) {
    private val folders = names.associateWith { root.resolve("$it/target/classes") }

    /** Every class of every module. */
    val classes: JavaClasses = ClassFileImporter().importPaths(folders.values.map { it.toPath() })

    private val moduleOf: Map<String, String> =
        classes
            .mapNotNull { type ->
                val path = type.source.orElse(null)?.uri?.path ?: return@mapNotNull null
                folders.entries.firstOrNull { path.startsWith(it.value.path + "/") }?.let { type.name to it.key }
            }.toMap()

    /** The module of a class; null for those that are no module's. */
    fun moduleOf(type: JavaClass): String? = moduleOf[type.baseComponentType.name]

    /** The number of classes in each module. A module that was not compiled has none, and so breaks no rule. */
    fun sizes(): Map<String, Int> = folders.keys.associateWith { module -> moduleOf.values.count { it == module } }

    /** The uses of one room by another, by the names of both, each with one class that uses the other room. */
    fun arrows(room: (JavaClass) -> String?): Map<Pair<String, String>, String> =
        classes
            .flatMap { it.directDependenciesFromSelf }
            .mapNotNull { it.arrow(room) }
            .toMap()

    private fun Dependency.arrow(room: (JavaClass) -> String?): Pair<Pair<String, String>, String>? {
        val from = room(originClass) ?: return null
        val to = room(targetClass.baseComponentType) ?: return null
        return if (from == to) null else (from to to) to description
    }
}
