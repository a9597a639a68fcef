package org.kverbs.dsl

import org.kverbs.Context
import org.kverbs.XrcDomain
import org.kverbs.XrcDomainAttributes
import org.kverbs.XrcReceiveQueuePair
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.ConnectOptionsBuilder
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairAttributesBuilder
import org.kverbs.attributes.QueuePairEndpoint
import java.nio.file.Path

/**
 * Opens the XRC domain of a file, and makes it if it does not exist; whoever opens the same file shares the domain
 * (ibv_open_xrcd). Errors as [Context.xrcDomain].
 */
public fun Context.xrcDomain(file: Path): XrcDomain = xrcDomain(XrcDomainAttributes.of(file))

/** Connects an XRC_SEND queue pair to the endpoint of a peer's [XrcReceiveQueuePair]; errors as `QueuePair.connect`. */
@JvmName("connectXrc")
public fun TypedQueuePair<SharedQueueVerbs>.connect(
    remote: QueuePairEndpoint,
    options: ConnectOptions = ConnectOptions.DEFAULTS,
): Unit = queuePair.connect(remote, options)

/** Connects with options: `receiver.connect(sender) { gidIndex(1) }`; errors as [XrcReceiveQueuePair.connect]. */
public fun XrcReceiveQueuePair.connect(
    remote: QueuePairEndpoint,
    block: (@RdmaDsl ConnectOptionsBuilder).() -> Unit,
): Unit = connect(remote, connectOptions(block))

/**
 * Loads and arms an alternate path: `receiver.armAlternatePath(sender) { gidIndex(0) }`; errors as
 * [XrcReceiveQueuePair.armAlternatePath].
 */
public fun XrcReceiveQueuePair.armAlternatePath(
    remote: QueuePairEndpoint,
    block: (@RdmaDsl ConnectOptionsBuilder).() -> Unit,
): Unit = armAlternatePath(remote, connectOptions(block))

/** Changes attributes: `receiver.modify { state(ERR) }` (ibv_modify_qp); errors as [XrcReceiveQueuePair.modify]. */
public fun XrcReceiveQueuePair.modify(block: (@RdmaDsl QueuePairAttributesBuilder).() -> Unit): Unit =
    modify(QueuePairAttributes.builder().apply(block).build())
