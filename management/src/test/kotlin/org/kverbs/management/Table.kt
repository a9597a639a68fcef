package org.kverbs.management

/** The lines of a table among the test resources, by the names of their columns. */
internal fun table(name: String): List<Map<String, String>> {
    val lines =
        checkNotNull(object {}.javaClass.getResource("/$name")) { "no resource $name" }
            .readText()
            .lines()
            .filter { it.isNotEmpty() }
    val columns = lines.first().split('\t')
    return lines.drop(1).map { columns.zip(it.split('\t')).toMap() }
}
