package org.kverbs.coroutines

import org.kverbs.Device
import org.kverbs.dsl.RdmaDsl

/** What an [RdmaHost] is made from. Mutable within its block. */
@RdmaDsl
public class RdmaHostBuilder internal constructor() {
    internal var device: Device? = null
        private set
    internal var provider: String? = null
        private set
    internal var dispatcher: CompletionDispatcherBuilder.() -> Unit = {}
        private set

    /** Takes the connection manager of this device's provider; default is that of the hardware, or else the embedded one. */
    public fun device(device: Device) {
        this.device = device
    }

    /** Takes the connection manager of a provider, `native` or `embedded`. */
    public fun provider(name: String) {
        provider = name
    }

    /** How the completions of each device are waited for; the thread is the library's. */
    public fun dispatcher(block: CompletionDispatcherBuilder.() -> Unit) {
        dispatcher = block
    }
}
