package org.kverbs.ibtool.ibcheck

import org.kverbs.management.structures.LinkWidth
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortPhysicalState
import org.kverbs.management.structures.PortState

/** What the ibcheck commands look at in the PortInfo of a port. Each returns a sentence for what is wrong. */
internal enum class PortChecks {
    /** Whether the port is up and active. */
    STATE {
        override fun faults(info: PortInfo): List<String> =
            listOfNotNull(
                "Physical link state is ${name(info.portPhysicalState)}"
                    .takeIf { info.portPhysicalState != PortPhysicalState.LINK_UP },
                "Logical link state is ${name(info.portState)}".takeIf { info.portState != PortState.ACTIVE },
            )
    },

    /** Whether the link has one lane, although the port has more. */
    WIDTH {
        override fun faults(info: PortInfo): List<String> {
            val isNarrow = info.linkWidthActive == LinkWidth.W1X && info.linkWidthSupported != LinkWidth.W1X
            return listOfNotNull("Link configured as 1X (${info.linkWidthSupported} is supported)".takeIf { isNarrow })
        }
    },

    /** Whether a subnet manager has configured the port. */
    SETTINGS {
        override fun faults(info: PortInfo): List<String> =
            listOfNotNull(
                "Lid is not configured".takeIf { info.lid.value == 0 },
                "SM Lid is not configured".takeIf { info.masterSMLID.value == 0 },
            )
    }, ;

    abstract fun faults(info: PortInfo): List<String>

    protected fun name(value: Any): String = "$value".substringBefore('(')
}
