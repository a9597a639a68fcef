package org.kverbs.ibtool.services

import org.kverbs.attributes.Gid
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NoticeSMP
import org.kverbs.management.structures.NoticeTrap129
import org.kverbs.management.structures.NoticeTrap144
import org.kverbs.management.structures.NoticeTrap145
import org.kverbs.management.structures.NoticeTrap256
import org.kverbs.management.structures.NoticeTrap257
import org.kverbs.management.structures.NoticeType
import org.kverbs.management.structures.PortInfo
import org.kverbs.structures.Guid
import org.kverbs.structures.Lid
import org.kverbs.structures.Structure

private const val CHANGED_GUID = 0x1234567812345678L
private const val PREFIX = -0x073fffffffffffffL

/** The traps that `ibsendtrap` sends, by their words. What they report is made up, but for the port itself. */
internal enum class TrapKind(
    private val type: NoticeType,
    private val number: Int,
    private val details: (PortInfo, Int) -> Structure,
) {
    NODE_DESC_CHANGE(
        NoticeType.INFORMATIONAL,
        144,
        { port, _ -> localChange(port).apply { nodeDescriptionChange = true } },
    ),
    LINK_SPEED_ENABLED_CHANGE(
        NoticeType.INFORMATIONAL,
        144,
        { port, _ -> localChange(port).apply { linkSpeedEnabledChange = true } },
    ),
    LOCAL_LINK_INTEGRITY(
        NoticeType.URGENT,
        129,
        { port, errorPort ->
            NoticeTrap129 {
                lidAddr = port.lid
                portNo = errorPort
            }
        },
    ),
    SYS_IMAGE_GUID_CHANGE(
        NoticeType.INFORMATIONAL,
        145,
        { _, _ -> NoticeTrap145 { systemImageGUID = Guid(CHANGED_GUID) } },
    ),
    MKEY_LID(NoticeType.SECURITY, 256, { port, _ -> wrongKey(port) }),
    MKEY_DR(
        NoticeType.SECURITY,
        256,
        { port, _ ->
            wrongKey(port).apply {
                drNotice = true
                drHopCount = 4
                repeat(4) { drNoticeReturnPath[it] = 5 + it }
            }
        },
    ),
    PKEY(NoticeType.SECURITY, 257, { _, _ -> wrongPartition() }),
    QKEY(NoticeType.SECURITY, 258, { _, _ -> wrongPartition() }),
    ;

    /** The word of the command line. */
    val word: String get() = name.lowercase()

    /** Returns the notice of a port; [errorPort] is the one that a link's errors are reported of. */
    fun notice(
        node: NodeInfo,
        port: PortInfo,
        errorPort: Int,
    ): NoticeSMP =
        NoticeSMP {
            isGeneric = true
            type = this@TrapKind.type
            producerTypeVendorID = node.nodeType.value
            trapNumberDeviceID = number
            issuerLID = port.lid
            dataDetails = details(port, errorPort).bytes()
        }

    private companion object {
        fun localChange(port: PortInfo) =
            NoticeTrap144 {
                lidAddr = port.lid
                capabilityMask = port.capabilityMask
                otherLocalChanges = true
            }

        fun wrongKey(port: PortInfo) =
            NoticeTrap256 {
                lidAddr = port.lid
                drSLID = Lid(0xffff)
                method = Method.GET
                attributeID = 0x15
                attributeModifier = 0x12
                mKey = CHANGED_GUID
            }

        fun wrongPartition() =
            NoticeTrap257 {
                lidAddr1 = Lid(1)
                lidAddr2 = Lid(2)
                key = 0x12345678
                qp1 = 0x010101
                qp2 = 0x020202
                gidAddr1 = Gid(PREFIX, 0x1111222233334444)
                gidAddr2 = Gid(PREFIX, 0x5678567812341234)
            }
    }
}
