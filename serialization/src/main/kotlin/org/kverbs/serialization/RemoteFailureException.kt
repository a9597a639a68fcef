package org.kverbs.serialization

import org.kverbs.RdmaException

/**
 * Thrown if the peer could not answer a request: its handler threw an exception, it has no such method, or it could not
 * decode the request. The exception's message comes from the peer. The connection lives on.
 *
 * @property method the name of the called method
 * @property remoteClass the class name of the peer's exception, or null if the peer does not show it
 *   ([RequestsBuilder.showFailureClasses])
 */
public class RemoteFailureException internal constructor(
    public val method: String,
    message: String,
    public val remoteClass: String?,
) : RdmaException(message)
