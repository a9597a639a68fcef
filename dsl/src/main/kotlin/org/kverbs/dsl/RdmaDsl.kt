package org.kverbs.dsl

/**
 * Marks the receivers of all builders, so that an inner block cannot call a function of an outer receiver by mistake.
 */
@DslMarker
@Target(AnnotationTarget.CLASS, AnnotationTarget.TYPE)
public annotation class RdmaDsl
