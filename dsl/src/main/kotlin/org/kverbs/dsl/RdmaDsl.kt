package org.kverbs.dsl

/** Marks every receiver of the builders, so that an inner block can't set something of an outer one by mistake. */
@DslMarker
@Target(AnnotationTarget.CLASS, AnnotationTarget.TYPE)
public annotation class RdmaDsl
