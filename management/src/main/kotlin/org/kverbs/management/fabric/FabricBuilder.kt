package org.kverbs.management.fabric

import kotlinx.coroutines.Dispatchers
import org.kverbs.management.rmpp.RmppSettings
import org.kverbs.management.transaction.MadListener
import org.kverbs.management.transaction.MadTransactor
import org.kverbs.management.transport.guarded
import kotlin.coroutines.CoroutineContext
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds

/** The settings of a [Fabric]. */
public class FabricBuilder internal constructor() {
    internal var timeout: Duration = 1000.milliseconds
        private set
    internal var retries: Int = 3
        private set
    internal var outstanding: Int = MadTransactor.DEFAULT_OUTSTANDING
        private set
    internal var listener: MadListener? = null
        private set
    internal var mKey: Long = 0
        private set

    internal var ccKey: Long = 0
        private set
    internal var vendor: Int? = null
        private set
    internal var saKey: Long = 0
        private set
    internal var rmpp: RmppSettings = RmppSettings()
        private set
    internal var context: CoroutineContext = Dispatchers.Default
        private set

    /** How long one attempt waits for its answer; one second without this. */
    public fun timeout(time: Duration) {
        require(time.isPositive()) { "the timeout $time leaves no time for an answer" }
        require(time.isFinite()) { "the timeout $time never ends: give the longest time that a port needs" }
        timeout = time
    }

    /** How often a request without an answer is sent again; three times without this. */
    public fun retries(count: Int) {
        require(count >= 0) { "retries are $count; give 0 to send a request once" }
        retries = count
    }

    /** How many requests wait for an answer at once; 32 without this. Further ones suspend. */
    public fun outstanding(count: Int) {
        require(count > 0) { "at least one request must be outstanding, not $count" }
        outstanding = count
    }

    /**
     * A listener that sees each event, for tracing: `listener(::println)` prints a line for each, and
     * `listener { println(it.dump()) }` the decoded datagrams. Several listeners see each event in turn.
     */
    public fun listener(listener: MadListener) {
        val earlier = this.listener
        this.listener =
            if (earlier == null) {
                listener
            } else {
                MadListener {
                    guarded { earlier.on(it) }
                    listener.on(it)
                }
            }
    }

    /** The key that requests to the subnet administrator carry, for its trusted queries; zero without this. */
    public fun saKey(key: Long) {
        saKey = key
    }

    /** The times and bounds of long messages, if the transport does not carry them itself. */
    public fun rmpp(settings: RmppSettings) {
        rmpp = settings
    }

    /** Where long messages are sent and other ports' requests are answered; `Dispatchers.Default` without this. */
    public fun context(context: CoroutineContext) {
        this.context = context
    }

    /** The management key that subnet management packets carry; zero without this. */
    public fun mKey(key: Long) {
        mKey = key
    }

    /** The key that requests of congestion control carry; zero without this. */
    public fun ccKey(key: Long) {
        ccKey = key
    }

    /**
     * The vendor that requests of the classes 0x30 to 0x4f name, by the 24 bits of its OUI. Without this it is OpenIB in
     * OpenIB's own classes, and none in the others.
     *
     * @throws IllegalArgumentException if it has more than 24 bits
     */
    public fun vendor(oui: Int) {
        require(oui in 0..MAX_OUI) {
            "the vendor 0x${oui.toUInt().toString(16)} is out of range; give the 24 bits of an OUI"
        }
        vendor = oui
    }

    private companion object {
        private const val MAX_OUI = 0xffffff
    }
}
