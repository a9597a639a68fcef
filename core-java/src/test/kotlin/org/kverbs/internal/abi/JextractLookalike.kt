package org.kverbs.internal.abi

import java.nio.file.Path
import kotlin.io.path.createDirectories
import kotlin.io.path.div
import kotlin.io.path.writeText

/**
 * Writes Java sources by hand in the shape of what jextract 22 and later write, cut down to what the comparison calls.
 * It is not jextract's output. A padding other than zero, in bytes, puts event_type of ibv_async_event at a wrong
 * offset.
 */
internal fun writeJextractLookalike(
    folder: Path,
    asyncEventPadding: Int,
) {
    val padding = if (asyncEventPadding == 0) "" else "MemoryLayout.paddingLayout($asyncEventPadding),"
    val classes =
        mapOf(
            "public class ibv_async_event" to
                """
                private static final GroupLayout ${'$'}LAYOUT = MemoryLayout.structLayout(
                    MemoryLayout.unionLayout(ADDRESS.withName("cq"), ADDRESS.withName("qp")).withName("element"), $padding
                    JAVA_INT.withName("event_type"), MemoryLayout.paddingLayout(4)).withName("ibv_async_event");
                public static final GroupLayout layout() { return ${'$'}LAYOUT; }
                public static long sizeof() { return layout().byteSize(); }
                public static final long element${'$'}offset() { return ${'$'}LAYOUT.byteOffset(groupElement("element")); }
                public static final long event_type${'$'}offset() { return ${'$'}LAYOUT.byteOffset(groupElement("event_type")); }
                """,
            "public class ibv_wc" to
                """
                private static final GroupLayout ${'$'}LAYOUT = MemoryLayout.structLayout(MemoryLayout.paddingLayout(24),
                    MemoryLayout.unionLayout(JAVA_INT.withName("imm_data"), JAVA_INT.withName("invalidated_rkey"))
                        .withName("${'$'}anon${'$'}599:2"));
                public static final GroupLayout layout() { return ${'$'}LAYOUT; }
                public static final long imm_data${'$'}offset() {
                    return ${'$'}LAYOUT.byteOffset(groupElement("${'$'}anon${'$'}599:2"), groupElement("imm_data"));
                }
                """,
            // jextract splits a large header's class: each part extends the next, and only the first is public.
            "public class kverbs_abi_h extends kverbs_abi_h_1" to
                """
                private static final int EAI_AGAIN = (int)-3L;
                public static int EAI_AGAIN() { return EAI_AGAIN; }
                """,
            // An enumerator is an int, whether its enum is signed or not.
            "class kverbs_abi_h_1" to
                """
                private static final int IBV_NODE_UNKNOWN = (int)-1L;
                public static int IBV_NODE_UNKNOWN() { return IBV_NODE_UNKNOWN; }
                private static final int IBV_REREG_MR_ERR_CMD = (int)-4L;
                public static int IBV_REREG_MR_ERR_CMD() { return IBV_REREG_MR_ERR_CMD; }
                private static final int IBV_RX_HASH_INNER = (int)-2147483648L;
                public static int IBV_RX_HASH_INNER() { return IBV_RX_HASH_INNER; }
                """,
        )
    val sources = (folder / "witness").createDirectories()
    for ((declaration, body) in classes) {
        val imports =
            "package witness;\nimport java.lang.foreign.*;\n" +
                "import static java.lang.foreign.MemoryLayout.PathElement.groupElement;\n" +
                "import static java.lang.foreign.ValueLayout.*;\n"
        val name = declaration.substringAfter("class ").substringBefore(' ')
        (sources / "$name.java").writeText("$imports$declaration {$body}\n")
    }
}
