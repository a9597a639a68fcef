package org.kverbs.coroutines

import kotlinx.coroutines.Dispatchers
import org.kverbs.Device
import org.kverbs.dsl.RdmaDsl
import kotlin.coroutines.CoroutineContext

/** Configures an [RdmaHost]. Mutable within its block. */
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
     * Uses the connection manager of this device's provider; default is that of the RDMA hardware, or without hardware
     * the embedded one.
     */
    public fun device(device: Device) {
        this.device = device
    }

    /** Uses the connection manager of a provider, `native` or `embedded`. */
    public fun provider(name: String) {
        provider = name
    }

    /**
     * Sets the context in which the host runs its own coroutines, and its servers run their handlers; default
     * [Dispatchers.Default]. A test can give a context with virtual time. A job in it has no effect: [RdmaHost.close]
     * ends the host's coroutines.
     */
    public fun context(context: CoroutineContext) {
        this.context = context
    }

    /** Configures how the host's threads wait for the completions of each device. */
    public fun dispatcher(block: CompletionDispatcherBuilder.() -> Unit) {
        dispatcher = block
    }

    /**
     * Creates no threads: one thread of the caller takes all events and completions with [RdmaHost.poll]. By default
     * the host has threads of its own. Use this in a program with its own loop, such as a test with virtual time.
     */
    public fun callerPolls() {
        isCallers = true
    }
}
