package org.kverbs.ibtool.congestion

import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.Target
import org.kverbs.ibtool.session.printable
import org.kverbs.management.structures.CACongestionSetting
import org.kverbs.management.structures.CongestionControlTable
import org.kverbs.management.structures.CongestionKeyInfo
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.SwitchCongestionSetting
import org.kverbs.management.structures.SwitchPortCongestionSetting
import org.kverbs.structures.Structure
import org.kverbs.structures.TakesSet
import org.kverbs.structures.toJson

/**
 * Sets one attribute of congestion control from the words of a command line.
 *
 * @param isDry whether it only says what would be set
 * @param announce gets what is set, before it is set
 */
internal class CongestionChange(
    private val session: Session,
    private val target: Target,
    private val words: List<String>,
    private val isDry: Boolean,
    private val announce: (String) -> Unit,
) {
    private val fabric get() = session.fabric

    suspend fun keyInfo(): CongestionReport {
        require("CongestionKeyInfo", words.size == 4)
        val isProtected = int(1)
        if (isProtected !in 0..1) throw DiagnosticException("invalid cc_keyprotectbit value")
        if (int(2) !in 0..SHORT) throw DiagnosticException("invalid cc_keyleaseperiod value")
        if (int(3) !in 0..SHORT) throw DiagnosticException("invalid cc_keyviolations value")
        val value =
            CongestionKeyInfo {
                ccKey = number(0)
                ccKeyProtectBit = isProtected == 1
                ccKeyLeasePeriod = int(2)
                ccKeyViolations = int(3)
            }
        return set(value, "the key, protect bit $isProtected, lease period ${int(2)}")
    }

    suspend fun switchSetting(): CongestionReport {
        require("SwitchCongestionSetting", words.size == 8)
        val value =
            SwitchCongestionSetting {
                controlMap = number(0)
                victimMask = mask(words[1])
                creditMask = mask(words[2])
                threshold = int(3)
                packetSize = int(4)
                csThreshold = int(5)
                csReturnDelay = pair(words[6]).let { (shift, multiplier) -> shift shl SHIFT or multiplier }
                markingRate = int(7)
            }
        return set(value, "$value")
    }

    suspend fun portSetting(): CongestionReport {
        require("SwitchPortCongestion", words.size == 6)
        val node = fabric.get<NodeInfo>(target.path)
        if (node.nodeType != NodeType.SWITCH) throw DiagnosticException("destination not a switch")
        val port = int(0)
        if (port !in 0..node.numPorts) throw DiagnosticException("invalid port number specified")
        val block = port / CongestionQuery.PORTS
        val value = fabric.get<SwitchPortCongestionSetting>(target.path, block)
        val element = value.switchPortCongestionSettingElement[port % CongestionQuery.PORTS]
        element.valid = flag(1)
        element.controlType = flag(2)
        element.threshold = int(3)
        element.packetSize = int(4)
        element.congParmMarkingRate = int(5)
        return set(value, "port $port $element", block)
    }

    suspend fun caSetting(): CongestionReport {
        require("CACongestionSetting", words.size == 6)
        val map = int(1)
        val value =
            CACongestionSetting {
                portControl = int(0)
                controlMap = map
                for (level in (0 until CongestionQuery.LEVELS).filter { map shr it and 1 != 0 }) {
                    caCongestionEntry[level].cctiTimer = int(2)
                    caCongestionEntry[level].cctiIncrease = int(3)
                    caCongestionEntry[level].triggerThreshold = int(4)
                    caCongestionEntry[level].cctiMin = int(5)
                }
            }
        return set(value, words.joinToString(" "))
    }

    suspend fun controlTable(): CongestionReport {
        require("CongestionControlTable", words.size in 2..2 + CongestionQuery.ENTRIES)
        val limit = int(0)
        val index = int(1)
        val entries = words.drop(2).map(::pair)
        if (limit != 0 && limit + 1 != index * CongestionQuery.ENTRIES + entries.size) {
            throw DiagnosticException("invalid number of cct entries input given ccti_limit and index")
        }
        val value =
            CongestionControlTable {
                cctiLimit = limit
                entries.forEachIndexed { at, (shift, multiplier) ->
                    cctiEntry[at].cctShift = shift
                    cctiEntry[at].cctMultiplier = multiplier
                }
            }
        return set(value, words.joinToString(" "), index)
    }

    private suspend fun <S> set(
        value: S,
        what: String,
        modifier: Int = 0,
    ): CongestionReport where S : Structure, S : TakesSet {
        val all = "${value.structureType.name} of $target: $what"
        if (isDry) return CongestionReport("would set $all\n", value.toJson())
        announce("sets $all")
        return CongestionReport("", fabric.set(target.path, value, modifier).toJson())
    }

    private fun require(
        name: String,
        isRight: Boolean,
    ) {
        if (!isRight) throw DiagnosticException("invalid number of parameters for $name")
    }

    private fun number(at: Int): Long = parsed(words[at])

    private fun int(at: Int): Int = small(words[at])

    private fun flag(at: Int): Boolean {
        if (int(at) !in 0..1) throw DiagnosticException("value out of range")
        return int(at) == 1
    }

    private fun small(text: String): Int {
        val value = parsed(text)
        if (value !in 0..Int.MAX_VALUE) throw DiagnosticException("value out of range")
        return value.toInt()
    }

    private fun parsed(text: String): Long =
        try {
            org.kverbs.ibtool.session.number(text)
        } catch (e: IllegalArgumentException) {
            throw DiagnosticException("invalid integer input: ${e.message}", cause = e)
        }

    /** Reads `shift:multiplier`. */
    private fun pair(text: String): Pair<Int, Int> {
        if (':' !in text) throw DiagnosticException("ccts are formatted shift:multiplier")
        val shift = small(text.substringBefore(':'))
        val multiplier = small(text.substringAfter(':'))
        if (shift > MOST_SHIFT || multiplier > MOST_MULTIPLIER) {
            val ranges = "give a shift of 0 to $MOST_SHIFT and a multiplier of 0 to $MOST_MULTIPLIER"
            throw DiagnosticException("value out of range: ${printable(text)}; $ranges")
        }
        return shift to multiplier
    }

    /** Reads up to 256 bits in hexadecimal digits. */
    private fun mask(text: String): ByteArray {
        val digits = text.removePrefix("0x").removePrefix("0X")
        if (digits.isEmpty() || digits.any { it.digitToIntOrNull(RADIX) == null }) {
            throw DiagnosticException("invalid hex digit read")
        }
        if (digits.length > MASK_DIGITS) throw DiagnosticException("hex code too long")
        return digits.padStart(MASK_DIGITS, '0').hexToByteArray()
    }

    private companion object {
        private const val SHORT = 0xffff
        private const val SHIFT = 14
        private const val MOST_SHIFT = 3
        private const val MOST_MULTIPLIER = (1 shl SHIFT) - 1
        private const val RADIX = 16
        private const val MASK_DIGITS = 64
    }
}
