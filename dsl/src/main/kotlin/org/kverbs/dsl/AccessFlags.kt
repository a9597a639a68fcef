package org.kverbs.dsl

import org.kverbs.attributes.AccessFlag

/**
 * The right of the local device to write: received messages and the results of reads and atomics
 * ([AccessFlag.LOCAL_WRITE]).
 */
public val LOCAL_WRITE: AccessFlag = AccessFlag.LOCAL_WRITE

/** The right of a peer to write ([AccessFlag.REMOTE_WRITE]). */
public val REMOTE_WRITE: AccessFlag = AccessFlag.REMOTE_WRITE

/** The right of a peer to read ([AccessFlag.REMOTE_READ]). */
public val REMOTE_READ: AccessFlag = AccessFlag.REMOTE_READ

/** The right of a peer to use atomics ([AccessFlag.REMOTE_ATOMIC]). */
public val REMOTE_ATOMIC: AccessFlag = AccessFlag.REMOTE_ATOMIC

/** The right of a peer to flush its writes until every reader sees them ([AccessFlag.FLUSH_GLOBAL]). */
public val FLUSH_GLOBAL: AccessFlag = AccessFlag.FLUSH_GLOBAL

/** The right of a peer to flush its writes to persistent memory ([AccessFlag.FLUSH_PERSISTENT]). */
public val FLUSH_PERSISTENT: AccessFlag = AccessFlag.FLUSH_PERSISTENT

/** The right to bind memory windows to the memory ([AccessFlag.MW_BIND]). */
public val MW_BIND: AccessFlag = AccessFlag.MW_BIND

/** Pages that are not pinned: the device brings them in when it needs them ([AccessFlag.ON_DEMAND]). */
public val ON_DEMAND: AccessFlag = AccessFlag.ON_DEMAND
