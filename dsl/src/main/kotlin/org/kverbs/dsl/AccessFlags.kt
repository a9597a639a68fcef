package org.kverbs.dsl

import org.kverbs.attributes.AccessFlag

/** This side's device may write: receives, reads and atomics bring data ([AccessFlag.LOCAL_WRITE]). */
public val LOCAL_WRITE: AccessFlag = AccessFlag.LOCAL_WRITE

/** A peer may write ([AccessFlag.REMOTE_WRITE]). */
public val REMOTE_WRITE: AccessFlag = AccessFlag.REMOTE_WRITE

/** A peer may read ([AccessFlag.REMOTE_READ]). */
public val REMOTE_READ: AccessFlag = AccessFlag.REMOTE_READ

/** A peer may use atomics ([AccessFlag.REMOTE_ATOMIC]). */
public val REMOTE_ATOMIC: AccessFlag = AccessFlag.REMOTE_ATOMIC

/** Memory windows may be bound to it ([AccessFlag.MW_BIND]). */
public val MW_BIND: AccessFlag = AccessFlag.MW_BIND
