package org.kverbs.coroutines

import kotlinx.coroutines.Dispatchers
import org.kverbs.Device
import org.kverbs.dsl.RdmaDsl
import kotlin.coroutines.CoroutineContext

/** What an [RdmaHost] is made from. Mutable within its block. */
@RdmaDsl
public class RdmaHostBuilder internal constructor() {
    internal var device: Device? = null
        private set
    internal var provider: String? = null
        private set
    internal var context: CoroutineContext = Dispatchers.Default
        private set
    internal var dispatcher: CompletionDispatcherBuilder.() -> Unit = {}
        private set
    internal var isCallers: Boolean = false
        private set

    /**
     * Takes the connection manager of this device's provider; default is that of the hardware, or else the embedded
     * one.
     */
    public fun device(device: Device) {
        this.device = device
    }

    /** Takes the connection manager of a provider, `native` or `embedded`. */
    public fun provider(name: String) {
        provider = name
    }

    /**
     * Where the host runs coroutines of its own, and its servers their handlers; default [Dispatchers.Default]. A test
     * puts them on a virtual clock by it. A job in it has no effect: [RdmaHost.close] ends them.
     */
    public fun context(context: CoroutineContext) {
        this.context = context
    }

    /** How the completions of each device are waited for; the thread is the library's. */
    public fun dispatcher(block: CompletionDispatcherBuilder.() -> Unit) {
        dispatcher = block
    }

    /**
     * Makes no threads: one thread of the caller takes all events and completions, by [RdmaHost.poll]. Default is
     * threads of its own. For programs with a loop of their own, as a test's on a virtual clock.
     */
    public fun callerPolls() {
        isCallers = true
    }
}
