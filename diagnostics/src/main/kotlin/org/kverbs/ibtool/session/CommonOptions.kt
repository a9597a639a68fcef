package org.kverbs.ibtool.session

import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.core.GroupableOption
import com.github.ajalt.clikt.parameters.options.OptionDelegate
import com.github.ajalt.clikt.parameters.options.convert
import com.github.ajalt.clikt.parameters.options.counted
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import java.nio.file.Path
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds

private const val MOST_PORTS = 255L
private const val MOST_LIDS = 0xbfffL
private const val MOST_MILLISECONDS = 0xffffffffL
private const val MOST_RETRIES = 1_000_000L
private const val MOST_OUTSTANDING = 65_536L

/**
 * The options that all commands share, with the names and letters of infiniband-diags, and those that ibtool adds.
 *
 * @param excluded the letters of those that [command] does not have, or uses for something else. The options of `d`,
 *   `e`, `o` and `v` are there all the same, by their long names.
 */
internal class CommonOptions(
    private val command: CoreCliktCommand,
    private val excluded: String,
) {
    private class Choice<T>(
        private val option: OptionDelegate<T>?,
        private val default: T,
    ) {
        val value: T get() = option?.value ?: default
    }

    private fun <T> choice(
        letter: Char,
        default: T,
        option: OptionDelegate<T>,
    ): Choice<T> {
        if (letter in excluded) return Choice(null, default)
        command.registerOption(option as GroupableOption)
        return Choice(option, default)
    }

    private fun text(
        name: String,
        letter: Char,
        metavar: String,
        help: String,
    ): Choice<String?> = choice(letter, null, command.option(name, "-$letter", metavar = metavar, help = help))

    private fun flag(
        name: String,
        letter: Char,
        help: String,
    ): Choice<Boolean> = choice(letter, false, command.option(name, "-$letter", help = help).flag())

    private fun number(
        name: String,
        letter: Char,
        metavar: String,
        help: String,
        range: LongRange? = null,
    ): Choice<Long?> {
        val option = command.option(name, "-$letter", metavar = metavar, help = help)
        return choice(letter, null, option.convert { if (range == null) number(it) else ranged(it, range) })
    }

    private val caOption = text("--Ca", 'C', "CA", "The adapter to use; of a simulated fabric, the node")
    private val portOption = number("--Port", 'P', "PORT", "The port of the adapter", 0L..MOST_PORTS)
    private val directOption = flag("--Direct", 'D', "The address is a directed path: 0,1,4")
    private val lidOption = flag("--Lid", 'L', "The address is a LID")
    private val guidOption = flag("--Guid", 'G', "The address is a port GUID")
    private val timeoutOption =
        number("--timeout", 't', "MS", "Milliseconds that an attempt waits for its answer", 1L..MOST_MILLISECONDS)
    private val smPortOption =
        number(
            "--sm_port",
            's',
            "LID",
            "The LID of the subnet administrator to ask",
            1L..MOST_LIDS,
        )
    private val showKeysOption = flag("--show_keys", 'K', "Show keys in the output")
    private val mKeyOption = number("--m_key", 'y', "KEY", "The management key of requests")
    private val errorsOption = added(named("--errors", 'e', "Show each datagram that failed").flag())
    private val verboseOption =
        added(named("--verbose", 'v', "Say more; errors with all layers, twice, with the datagrams").counted())
    private val debugOption = added(named("--debug", 'd', "Show each datagram; twice, decoded").counted())
    private val pcapOption =
        added(
            command
                .option("--pcap", metavar = "FILE", help = "Write each datagram to a file for Wireshark")
                .convert { Path.of(it) },
        )
    private val retriesOption =
        added(
            command
                .option(
                    "--retries",
                    metavar = "N",
                    help = "How often a request is repeated (3)",
                ).convert { ranged(it, 0L..MOST_RETRIES) },
        )
    private val fabricOption =
        added(
            command.option(
                "--fabric",
                metavar = "FILE|GENERATOR",
                help =
                    "Run on a simulated fabric: of a net file, or of fat-tree:K, hosts:N, torus:N,N,... or " +
                        "dragonfly:GROUPS,SWITCHES,HOSTS",
            ),
        )
    private val nameMapOption =
        added(command.option("--node-name-map", metavar = "FILE", help = "The names of nodes by their GUIDs"))
    private val saOption =
        added(
            command.option("--sa", help = "Answer from the subnet administrator's records, if it has some").flag(),
        )
    private val saPathOption =
        added(command.option("--sa-path", help = "Ask the subnet administrator for the path to the address").flag())
    private val jsonOption = added(command.option("--json", help = "Print JSON").flag())
    private val outstandingOption =
        added(
            command
                .option(
                    *names("--outstanding_smps", "--outstanding", letter = 'o'),
                    metavar = "N",
                    help = "How many requests wait for an answer at once (32)",
                ).convert { ranged(it, 1L..MOST_OUTSTANDING) },
        )

    /** The names of an option that all commands have. Some use its letter for something else. */
    private fun names(
        vararg names: String,
        letter: Char,
    ): Array<String> = if (letter in excluded) arrayOf(*names) else arrayOf(*names, "-$letter")

    private fun named(
        name: String,
        letter: Char,
        help: String,
    ) = command.option(*names(name, letter = letter), help = help)

    private fun <T> added(option: OptionDelegate<T>): OptionDelegate<T> =
        option.also { command.registerOption(it as GroupableOption) }

    val ca: String? get() = caOption.value

    /** The port's number, or null for any. */
    val port: Int? get() = portOption.value?.let(::narrow)?.takeIf { it != 0 }
    val isDirect: Boolean get() = directOption.value
    val isLid: Boolean get() = lidOption.value
    val isGuid: Boolean get() = guidOption.value
    val timeout: Duration? get() = timeoutOption.value?.milliseconds

    /** Where the subnet administrator is asked; null for where the port's subnet manager is. */
    val smPort: Int? get() = smPortOption.value?.let(::narrow)
    val showsKeys: Boolean get() = showKeysOption.value
    val mKey: Long get() = mKeyOption.value ?: 0
    val showsErrors: Boolean get() = errorsOption.value
    val verbose: Int get() = verboseOption.value
    val debug: Int get() = debugOption.value
    val retries: Int? get() = retriesOption.value?.let(::narrow)
    val fabric: String? get() = fabricOption.value
    val nameMap: String? get() = nameMapOption.value
    val json: Boolean get() = jsonOption.value
    val outstanding: Int? get() = outstandingOption.value?.let(::narrow)

    /** Whether attributes of subnet management come from the subnet administrator's records. */
    val sa: Boolean get() = saOption.value

    /** Whether the subnet administrator is asked for the path to a target. */
    val saPath: Boolean get() = saPathOption.value

    /** Where each datagram is written, or null. */
    val pcap: Path? get() = pcapOption.value
}
