package org.kverbs

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import org.kverbs.attributes.Feature
import org.kverbs.attributes.QueuePairType
import org.kverbs.internal.abi.CCompiler
import org.kverbs.internal.abi.inTemporaryFolder
import org.kverbs.internal.abi.runProgram
import java.nio.file.Path
import kotlin.io.path.createDirectories
import kotlin.io.path.div
import kotlin.io.path.readText
import kotlin.io.path.writeText
import kotlin.reflect.KClass

/**
 * Tests on a libibverbs of rdma-core 22, which lacks `_ibv_query_gid_ex`, `_ibv_query_gid_table` and other functions.
 */
internal class OldLibrarySpec :
    FunSpec({
        test("should find the GIDs, their types and interfaces, and connect by the first RoCE v2 one of IPv4") {
            inTemporaryFolder { sysfs ->
                val attributes = sysfs / "ports/1/gid_attrs"
                val types = listOf("IB/RoCE v1\n", "RoCE v2\n", "IB/RoCE v1\n", "RoCE v2\n")
                types.forEachIndexed { index, type -> attributes.write("types", index, type) }
                repeat(3) { attributes.write("ndevs", it, "lo\n") } // the last has an interface that has gone
                attributes.write("ndevs", 3, "none0\n")
                OldLibraryProgram.run(sysfs) shouldContainExactly
                    listOf(
                        "0 fe80::1 ROCE_V1 interface 1",
                        "1 fe80::1 ROCE_V2 interface 1",
                        "2 ::ffff:10.0.0.1 ROCE_V1 interface 1",
                        "3 ::ffff:10.0.0.1 ROCE_V2 interface 0",
                        "entry 1: ROCE_V2, entry 4: ENODATA, entry 5: EINVAL, port 2: EINVAL, table of 3: EINVAL",
                        "dma-buf: false, ENOSYS",
                        "::ffff:10.0.0.1 in RTS by 3",
                    )
            }
        }

        test("should take a kernel without those files for one that knows RoCE v1 alone") {
            inTemporaryFolder { sysfs ->
                val lines = OldLibraryProgram.run(sysfs)
                lines.take(4).map { it.substringAfter(' ') } shouldContainExactly
                    listOf("fe80::1", "fe80::1", "::ffff:10.0.0.1", "::ffff:10.0.0.1").map { "$it ROCE_V1 interface 0" }
                lines.last() shouldBe "fe80::1 in RTS by 0"
            }
        }

        for ((source, library) in listOf("Libibverbs" to "libibverbs.so", "Librdmacm" to "librdmacm.so")) {
            test("should give each function of $library the release that the library itself has it from") {
                CCompiler.require(listOf("infiniband/verbs.h", "rdma/rdma_cma.h"))
                val versions = versionsOf(runProgram("gcc", "-print-file-name=$library").trim())
                val root = Path.of(System.getProperty("kverbs.root"))
                val text = (root / "core-java/src/main/java/org/kverbs/internal/ffm/$source.java").readText()
                val found = BINDING.findAll(text).map { it.groupValues }
                val bindings = found.map { (_, symbol, release) -> symbol to (release.toIntOrNull() ?: 0) }.toList()
                bindings.size shouldBe Regex("library\\.function\\(\"").findAll(text).count()
                for ((symbol, release) in bindings) {
                    val version = versions[symbol]
                    withClue("$symbol is of $version") {
                        if (version ==
                            null
                        ) {
                            release shouldBeGreaterThan newest(versions)
                        } else {
                            RELEASES[version] shouldBe release
                        }
                    }
                }
            }
        }
    })

private val BINDING = Regex("""library\.function\("(\w+)"(?:, (\d+))?\)""")

/** The first release of rdma-core with the functions of each symbol version; 0 stands for every release. */
private val RELEASES =
    mapOf(
        "IBVERBS_1.0" to 0,
        "IBVERBS_1.1" to 0,
        "IBVERBS_1.5" to 20,
        "IBVERBS_1.6" to 24,
        "IBVERBS_1.7" to 25,
        "IBVERBS_1.8" to 28,
        "IBVERBS_1.9" to 30,
        "IBVERBS_1.10" to 31,
        "IBVERBS_1.11" to 32,
        "IBVERBS_1.12" to 34,
        "IBVERBS_1.13" to 35,
        "IBVERBS_1.14" to 36,
        "RDMACM_1.0" to 0,
        "RDMACM_1.1" to 16,
        "RDMACM_1.2" to 23,
        "RDMACM_1.3" to 31,
        "RDMACM_1.4" to 60,
    )

/** The release of the newest symbol version of an installed library; functions that it lacks are newer. */
private fun newest(versions: Map<String, String>): Int = versions.values.mapNotNull { RELEASES[it] }.max()

/** The symbol version of each function, as the dynamic linker takes it: the default one, behind two signs. */
private fun versionsOf(library: String): Map<String, String> =
    runProgram("nm", "--dynamic", "--defined-only", library)
        .lines()
        .map { it.substringAfterLast(' ') }
        .filter { "@@" in it }
        .associate { it.substringBefore("@@") to it.substringAfter("@@") }

private fun Path.write(
    kind: String,
    index: Int,
    text: String,
) = ((this / kind).createDirectories() / "$index").writeText(text)

/** Prints the GIDs of null0, and by which of them two queue pairs are connected. */
internal object OldLibraryProgram {
    @JvmStatic
    fun main(arguments: Array<String>) {
        check(arguments.isEmpty())
        Device.first().open().use { context ->
            context.queryGidTable().forEach {
                println("${it.index()} ${it.gid().toCompactString()} ${it.type()} interface ${it.netdevIndex()}")
            }
            println(
                "entry 1: ${context.queryGidType(1, 1)}, entry 4: ${refusal { context.queryGidEntry(1, 4) }}, " +
                    "entry 5: ${refusal { context.queryGidEntry(1, 5) }}, " +
                    "port 2: ${refusal { context.queryGidEntry(2, 0) }}, " +
                    "table of 3: ${refusal { context.queryGidTable(3) }}",
            )
            val pd = context.protectionDomain()
            val dmabuf = refusal { pd.registerDmabuf(0, 0, 1, 0) }
            println("dma-buf: ${context.supports(Feature.DMABUF)}, $dmabuf")
            val cq = context.completionQueue(16)
            val (a, b) = List(2) { pd.queuePair(QueuePairInitAttributes.of(QueuePairType.RC, cq)) }
            a.connect(b.endpoint())
            val route = a.query().address().globalRoute()!!
            println("${route.dgid().toCompactString()} in ${a.state()} by ${route.sgidIndex()}")
        }
    }

    private fun refusal(query: () -> Unit): String =
        try {
            query()
            "there"
        } catch (e: RdmaSystemException) {
            e.errnoName()
        }

    /** Runs it on a library of rdma-core 22 whose device has this folder in sysfs; gives the lines. */
    fun run(sysfs: Path): List<String> {
        val java = Path.of(System.getProperty("java.home"), "bin", "java").toString()
        val classes = listOf<KClass<*>>(OldLibraryProgram::class, Device::class, Unit::class)
        val classPath = classes.joinToString(":") { placeOf(it.java) }
        val options = listOf("--enable-native-access=ALL-UNNAMED", "-Dkverbs.libibverbs=${NullVerbs.ofRelease(22)}")
        val command = listOf(java) + options + listOf("-cp", classPath, OldLibraryProgram::class.java.name)
        return runProgram(*command.toTypedArray(), environment = mapOf("NULL_SYSFS" to "$sysfs")).trim().lines()
    }

    private fun placeOf(type: Class<*>) = Path.of(type.protectionDomain.codeSource.location.toURI()).toString()
}
