package org.kverbs.serialization

import org.kverbs.RdmaException

/**
 * The peer could not answer a request: its handler threw, it has no such method, or it could not decode the request.
 * The message is the peer's. The connection lives on.
 *
 * @property method the method that was called
 * @property remoteClass the class of the peer's exception if the peer shows it ([RequestsBuilder.showFailureClasses])
 */
public class RemoteFailureException internal constructor(
    public val method: String,
    message: String,
    public val remoteClass: String?,
) : RdmaException(message)
