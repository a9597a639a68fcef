package org.kverbs.serialization

import kotlinx.serialization.SerialName
import kotlinx.serialization.Serializable

/** Messages of several kinds. */
@Serializable
internal sealed interface Shape {
    @Serializable
    @SerialName("circle")
    data class Circle(
        val radius: Int,
    ) : Shape

    @Serializable
    @SerialName("path")
    data class Path(
        val points: List<Long>,
        val name: String? = null,
    ) : Shape

    @Serializable
    @SerialName("group")
    data class Group(
        val members: List<Shape>,
        val colours: Map<String, Int> = emptyMap(),
    ) : Shape
}

@Serializable
internal data class Area(
    val square: Int,
    val note: String = "",
)
