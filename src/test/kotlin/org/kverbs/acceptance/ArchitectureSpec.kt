package org.kverbs.acceptance

import com.tngtech.archunit.base.DescribedPredicate.describe
import com.tngtech.archunit.core.domain.JavaClass
import com.tngtech.archunit.core.domain.JavaMethodCall
import com.tngtech.archunit.core.domain.JavaModifier
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses
import com.tngtech.archunit.library.dependencies.SliceAssignment
import com.tngtech.archunit.library.dependencies.SliceIdentifier
import com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.maps.shouldBeEmpty
import org.kverbs.spi.ConnectionManager
import org.kverbs.spi.VerbsContext
import org.kverbs.spi.VerbsDevice
import org.kverbs.spi.VerbsProvider
import java.io.File
import java.lang.foreign.FunctionDescriptor
import java.lang.foreign.Linker
import java.lang.foreign.MemorySegment
import java.lang.foreign.SymbolLookup

/** Which module may use which: the arrows in docs/architecture.md, and none back. */
private val modulesBelow =
    mapOf(
        "core-java" to setOf(),
        "embedded" to setOf("core-java"),
        "mlx5" to setOf("core-java"),
        "efa" to setOf("core-java"),
        "dsl" to setOf("core-java"),
        "coroutines" to setOf("core-java", "dsl"),
        "serialization" to setOf("core-java", "dsl", "coroutines"),
        "krpc" to setOf("core-java", "dsl", "coroutines"),
        "micrometer" to setOf("core-java", "dsl", "coroutines"),
        "structures" to setOf("core-java"),
        "management" to setOf("core-java", "dsl", "structures"),
        "testkit" to setOf("core-java", "dsl", "coroutines", "embedded"),
        "testkit-kotest" to setOf("core-java", "dsl", "coroutines", "embedded", "testkit"),
        "testkit-junit" to setOf("core-java", "dsl", "coroutines", "embedded", "testkit"),
    )

private const val CORE = "org.kverbs"
private const val ATTRIBUTES = "org.kverbs.attributes"
private const val CM = "org.kverbs.cm"
private const val SPI = "org.kverbs.spi"
private const val UMAD = "org.kverbs.umad"
private const val INTERNAL = "org.kverbs.internal"
private const val ABI = "org.kverbs.internal.abi"
private const val FFM = "org.kverbs.internal.ffm"
private const val JFR = "org.kverbs.internal.jfr"
private const val MEMORY = "org.kverbs.internal.memory"
private const val VALUES = "org.kverbs.internal.values"
private const val EMBEDDED = "org.kverbs.embedded"

/** Which package of core-java may use which: the maps in its package-info files. */
private val packagesBelow =
    mapOf(
        SPI to setOf(),
        ABI to setOf(),
        JFR to setOf(),
        MEMORY to setOf(),
        VALUES to setOf(),
        ATTRIBUTES to setOf(VALUES, ABI),
        INTERNAL to setOf(ATTRIBUTES, SPI, MEMORY, VALUES, ABI),
        CORE to setOf(ATTRIBUTES, SPI, INTERNAL, JFR, MEMORY, VALUES, ABI),
        FFM to setOf(CORE, SPI, INTERNAL, MEMORY, ABI),
        CM to setOf(CORE, ATTRIBUTES, SPI, INTERNAL, MEMORY, VALUES, ABI),
        UMAD to setOf(CORE, ATTRIBUTES, SPI, INTERNAL, VALUES, ABI),
    )

/** The values among what [EMBEDDED] shows its users, which its inside may know. */
private val embeddedValues =
    listOf("BufferMisuse", "DeviceLimits", "Faults", "Operation", "PostedBuffer", "Semantics").map { "$EMBEDDED.$it" }

/** The architecture of docs/architecture.md and of the package-info files, held by the classes of published modules. */
class ArchitectureSpec :
    FunSpec({
        val modules = Modules(File(System.getProperty("kverbs.root")), modulesBelow.keys)
        val all = modules.classes

        fun isEmbeddedValue(type: JavaClass) = embeddedValues.any { type.name == it || type.name.startsWith("$it$") }

        test("should find the classes of every module") {
            modules.sizes().forEach { (module, size) -> withClue(module) { size shouldBeGreaterThan 0 } }
        }

        test("should let a module use none but those below it") {
            modules
                .arrows { modules.moduleOf(it) }
                .filterKeys { (from, to) -> to !in modulesBelow.getValue(from) }
                .shouldBeEmpty()
        }

        test("should let a package of core-java use none but those below it") {
            modules
                .arrows { type -> type.packageName.takeIf { modules.moduleOf(type) == "core-java" } }
                .filterKeys { (from, to) -> to !in packagesBelow.getValue(from) }
                .shouldBeEmpty()
        }

        test("should have no cycle of packages") {
            val packages =
                object : SliceAssignment {
                    override fun getIdentifierOf(type: JavaClass) =
                        when {
                            modules.moduleOf(type) == null -> SliceIdentifier.ignore()
                            isEmbeddedValue(type) -> SliceIdentifier.of("values of $EMBEDDED")
                            else -> SliceIdentifier.of(type.packageName)
                        }

                    override fun getDescription() = "packages"
                }
            slices().assignedFrom(packages).should().beFreeOfCycles().check(all)
        }

        test("should call native code from one package, and from two classes of the embedded device") {
            noClasses()
                .that()
                .resideOutsideOfPackage(FFM)
                .and()
                .doNotHaveFullyQualifiedName("$EMBEDDED.internal.objects.Populate")
                .and()
                .haveNameNotMatching(".*\\.internal\\.udp\\.Libc(\\$.*)?")
                .should()
                .dependOnClassesThat()
                .belongToAnyOf(Linker::class.java, SymbolLookup::class.java, FunctionDescriptor::class.java)
                .check(all)
        }

        test("should make memory out of addresses in one package") {
            noClasses()
                .that()
                .resideOutsideOfPackages(MEMORY, FFM)
                .should()
                .callMethodWhere(
                    describe<JavaMethodCall>("MemorySegment.reinterpret") {
                        it.targetOwner.isEquivalentTo(MemorySegment::class.java) && it.name == "reinterpret"
                    },
                ).check(all)
        }

        test("should name the provider of libibverbs nowhere: it is found as any other is") {
            noClasses()
                .that()
                .resideOutsideOfPackage(FFM)
                .should()
                .dependOnClassesThat()
                .resideInAPackage(FFM)
                .check(all)
        }

        test("should implement the seam in two places") {
            val seams = listOf(VerbsProvider::class, VerbsDevice::class, VerbsContext::class, ConnectionManager::class)
            for (seam in seams) {
                classes()
                    .that()
                    .areAssignableTo(seam.java)
                    .and()
                    .areNotInterfaces()
                    .should()
                    .resideInAnyPackage(FFM, "$EMBEDDED..")
                    .check(all)
            }
        }

        test("should know nothing of the objects above the seam inside of the embedded device") {
            noClasses()
                .that()
                .resideInAPackage("$EMBEDDED.internal..")
                .should()
                .dependOnClassesThat(
                    describe("are the objects above the seam") {
                        it.isAssignableTo("$CORE.Resource") || it.name == "$CORE.Device" || it.packageName == CM
                    },
                ).check(all)
        }

        test("should show no type of an internal package, and no C structure among the values") {
            val shown =
                all
                    .filter { it.modifiers.contains(JavaModifier.PUBLIC) }
                    .filter { modules.moduleOf(it) in setOf("core-java", "embedded", "mlx5", "efa") }
                    .filter { "internal" !in it.packageName.split('.') }
            val methods =
                shown
                    .flatMap { it.methods + it.constructors }
                    .filter { JavaModifier.PUBLIC in it.modifiers && JavaModifier.SYNTHETIC !in it.modifiers }
            withClue("parameters and results") {
                methods
                    .filter { method ->
                        val isValue = method.owner.packageName == ATTRIBUTES
                        (method.rawParameterTypes + method.rawReturnType).map { it.baseComponentType }.any { type ->
                            "internal" in type.packageName.split('.') ||
                                (isValue && type.isEquivalentTo(MemorySegment::class.java))
                        }
                    }.map { it.fullName }
                    .shouldBeEmpty()
            }
        }
    })
