package org.kverbs.acceptance

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContain
import io.kotest.matchers.longs.shouldBeLessThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.shouldNotBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import java.nio.file.Files
import java.nio.file.Path
import java.nio.file.attribute.FileTime
import java.time.Instant
import kotlin.io.path.createDirectories
import kotlin.io.path.createTempDirectory
import kotlin.io.path.deleteExisting
import kotlin.io.path.deleteIfExists
import kotlin.io.path.div
import kotlin.io.path.exists
import kotlin.io.path.fileSize
import kotlin.io.path.listDirectoryEntries
import kotlin.io.path.name
import kotlin.io.path.readLines
import kotlin.io.path.readText
import kotlin.io.path.setLastModifiedTime
import kotlin.io.path.writeText

private const val BUILDING = "kverbs: building"

/** A `java` that prints what it is started with, a line each, and makes the cache that it is asked for. */
internal const val JAVA =
    $$"for word; do case $word in -XX:AOTCacheOutput=*) echo classes > ${word#*=};; esac; done; printf '%s\\n' \"$@\""

/** Stands in for Maven: makes what `mvn package` makes, in its order. */
private const val MAVEN =
    "for jar in core-java/target/kverbs-core embedded/target/kverbs-embedded dsl/target/kverbs-dsl " +
        "coroutines/target/kverbs-coroutines serialization/target/kverbs-serialization " +
        "structures/target/kverbs-structures management/target/kverbs-management " +
        "samples/target/kverbs-samples console/target/kverbs-console cli/target/kverbs-cli; " +
        $$"do mkdir -p ${jar%/*}; touch $jar.jar; done; mkdir -p cli/target/lib cli/target/scripting; " +
        "touch cli/target/lib/a.jar"

/** What a short command's JVM gets, as [JAVA] prints it. */
internal const val OF_SHORT = "-XX:TieredStopAtLevel=1\n-XX:+UseSerialGC\n"

private val modules =
    listOf(
        "core-java",
        "embedded",
        "dsl",
        "coroutines",
        "serialization",
        "structures",
        "management",
        "samples",
        "console",
        "cli",
    )

/** A project whose sources are an hour old, and which was built a minute ago. */
private fun built() =
    ScratchProject().apply {
        program("mvn", "cd $root; $MAVEN")
        val sources =
            listOf(file("pom.xml")) + modules.flatMap { listOf(file("$it/pom.xml"), file("$it/src/main/A.java")) }
        run("./kverbs")
        sources.forEach { it.age(3600) }
        modules.forEach { (root / it / "src/main").age(3600) }
    }

private fun java.nio.file.Path.age(seconds: Long) =
    setLastModifiedTime(FileTime.from(Instant.now().minusSeconds(seconds)))

private fun succeeds(vararg command: String) =
    runCatching { ProcessBuilder(*command).redirectErrorStream(true).start().waitFor() == 0 }.getOrDefault(false)

/** True if this user can mount over folders in a mount namespace of its own. */
private val canHide = succeeds("unshare", "-rm", "true")

/** True if this process can run programs as a user that has no home folder. */
private val canBeNobody = succeeds("setpriv", "--reuid=65534", "--clear-groups", "true")

class LauncherSpec :
    FunSpec({
        test("should build what is missing, say so, and run the command") {
            ScratchProject().use {
                it.program("mvn", "cd ${it.root}; $MAVEN")
                modules.forEach { module -> it.file("$module/pom.xml") }
                it.file("pom.xml")
                modules.forEach { module -> (it.root / module / "src/main").createDirectories() }
                val (status, output) = it.run("./kverbs", "devices", "-v")
                status shouldBe 7
                output shouldContain BUILDING
                output shouldContain "java devices -v"
            }
        }

        test("should say that the first build takes a while, and not say so of the next") {
            ScratchProject().use {
                it.program("mvn", "cd ${it.root}; $MAVEN")
                modules.forEach { module -> it.file("$module/src/main/A.java").age(3600) }
                val poms = (modules.map { module -> "$module/pom.xml" } + "pom.xml").map(it::file)
                poms.forEach { pom -> pom.age(3600) }
                it.run("./kverbs", "devices").output.let { first ->
                    first shouldContain "$BUILDING for the first time"
                    first shouldContain "which takes a few minutes\n"
                }
                (it.root / "dsl/src/main/A.java").age(-1)
                val again = it.run("./kverbs", "devices").output
                again shouldContain BUILDING
                again shouldNotContain "minutes"
            }
        }

        test(
            "should not build what is newer than its sources, and pass on the command's output and exit status alone",
        ) {
            built().use { it.run("./kverbs", "devices", "-v") shouldBe Outcome(7, "java devices -v\n") }
        }

        val sources = listOf("core-java", "management", "samples", "cli").map { "$it/src/main/A.java" }
        (listOf("pom.xml", "dsl/pom.xml") + sources).forEach { source ->
            test("should build again, once, when $source was changed") {
                built().use {
                    (it.root / source).age(-1)
                    it.program("mvn", "cd ${it.root}; $MAVEN; touch -d '1 hour ago' $source")
                    it.run("./kverbs", "devices").output shouldContain BUILDING
                    it.run("./kverbs", "devices").output shouldNotContain BUILDING
                }
            }
        }

        test("should build again when a source was deleted") {
            built().use {
                (it.root / "dsl/src/main/A.java").deleteExisting()
                (it.root / "dsl/src/main").age(-1)
                it.run("./kverbs", "devices").output shouldContain BUILDING
            }
        }

        test("should build again when the compiler for scripts is not there") {
            built().use {
                (it.root / "cli/target/scripting").deleteExisting()
                it.run("./kverbs", "devices").output shouldContain BUILDING
            }
        }

        test("should give the compiler to scripts, and to nothing else") {
            built().use {
                it.script("jdk/bin/java", $$"echo \"java $*\"")
                it.run("./kverbs", "script", "a.main.kts").output shouldContain
                    "${it.root}/cli/target/scripting/* org.kverbs.cli.KverbsKt script a.main.kts"
                it.run("./kverbs", "--debug", "script", "a.main.kts").output shouldContain
                    "${it.root}/cli/target/scripting/* org.kverbs.cli.KverbsKt --debug script a.main.kts"
                it.run("./kverbs", "devices").output shouldNotContain "scripting"
            }
        }

        test("should make a cache of classes once, and another one when a jar was rebuilt") {
            built().use {
                fun caches() = (it.root / "cli/target").listDirectoryEntries("*.aot*")
                it.script("jdk/bin/java", JAVA)
                (it.root / "cli/target/lib/a.jar").writeText("old")
                it.run("./kverbs", "devices")
                val (first) = caches()
                it.run("./kverbs", "devices").output.lines() shouldContain "-XX:AOTCache=$first"
                (it.root / "cli/target/lib/a.jar").writeText("new")
                val (second) = it.run("./kverbs", "devices").let { caches() }
                second shouldNotBe first
                it.run("./kverbs", "devices").output.lines() shouldContain "-XX:AOTCache=$second"
                it.run("./kverbs", "script", "a.main.kts").output shouldNotContain "AOT"
            }
        }

        test("should run without a cache of classes where it can't be made") {
            built().use {
                it.script("jdk/bin/java", $$"case $1 in *AOT*) exit 1;; esac; printf '%s\\n' \"$@\"")
                (it.root / "cli/target/lib/a.jar").writeText("new")
                repeat(2) { _ ->
                    it.run("./kverbs", "devices") shouldBe
                        Outcome(0, "$OF_SHORT-jar\n${it.root}/cli/target/kverbs-cli.jar\ndevices\n")
                }
            }
        }

        test("should not take a cache that no JVM can read, as a full disc leaves it") {
            built().use {
                it.script("jdk/bin/java", $$"case \"$*\" in *AOTMode=on*) exit 1;; esac; " + JAVA)
                (it.root / "cli/target/lib/a.jar").writeText("new")
                repeat(2) { _ -> it.run("./kverbs", "devices").output shouldNotContain "AOTCache" }
                (it.root / "cli/target").listDirectoryEntries("*.aot*").single().fileSize() shouldBe 0
            }
        }

        test("should make the cache of classes when the disc that was full has room again") {
            built().use {
                it.script(
                    "jdk/bin/java",
                    $$"case \"$*\" in *AOTCacheOutput*) $$JAVA; exit 1;; *AOTMode=on*) exit 1;; esac; " + JAVA,
                )
                (it.root / "cli/target/lib/a.jar").writeText("new")
                it.run("./kverbs", "devices").output shouldNotContain "AOTCache"
                (it.root / "cli/target").listDirectoryEntries("*.aot*") shouldBe emptyList()
                it.script("jdk/bin/java", JAVA)
                it.run("./kverbs", "devices").output shouldContain "-XX:AOTCache="
            }
        }

        test("should try again when the disc was too full for the second JVM of a cache, and the first ended well") {
            built().use {
                it.script(
                    "jdk/bin/java",
                    "for word; do case \$word in -XX:AOTCacheOutput=*) echo part > \${word#*=}.config; exit 0;; " +
                        "*AOTMode=on*) exit 1;; esac; done; " + JAVA,
                )
                (it.root / "cli/target/lib/a.jar").writeText("new")
                it.run("./kverbs", "devices").output shouldNotContain "AOTCache"
                (it.root / "cli/target").listDirectoryEntries("*.aot*") shouldBe emptyList()
                it.script("jdk/bin/java", JAVA)
                it.run("./kverbs", "devices").output shouldContain "-XX:AOTCache="
            }
        }

        test("should not keep the output of an installed command open while it makes the cache of classes") {
            built().use {
                val archive = Path.of(System.getProperty("kverbs.root"), "cli/src/archive")
                it.file("installed/lib/aot.sh", (archive / "aot.sh").readText())
                it.script("installed/bin/kverbs", (archive / "kverbs").readText())
                listOf("kverbs-cli.jar", "lib/a.jar").forEach { jar -> it.file("installed/$jar") }
                val slow = "touch ${it.root}/asked; sleep 12"
                it.script("jdk/bin/java", $$"case \"$*\" in *AOTCacheOutput*) $$slow;; esac; " + JAVA)
                val begin = System.nanoTime()
                val command = "XDG_CACHE_HOME=${it.root}/caches installed/bin/kverbs devices | cat"
                it.run("bash", "-c", command).output.lines() shouldContain "devices"
                val seconds = (System.nanoTime() - begin) / 1_000_000_000
                seconds shouldBeLessThan 10
                while (!(it.root / "asked").exists()) Thread.sleep(20)
            }
        }

        test("should make one cache when two commands start at the same time, and leave nothing else") {
            built().use {
                it.script("jdk/bin/java", $$"case \"$*\" in *AOTCacheOutput*) sleep 0.3;; esac; " + JAVA)
                (it.root / "cli/target/lib/a.jar").writeText("new")
                val both = it.run("bash", "-c", "./kverbs devices & ./kverbs devices; wait").output.lines()
                both.count { line -> line == "devices" } shouldBe 2
                val cache = (it.root / "cli/target").listDirectoryEntries("*.aot*").single()
                cache.readText() shouldBe "classes\n"
                (it.root / "cli/target").listDirectoryEntries("jars.sum*").map { sum -> sum.name } shouldBe
                    listOf("jars.sum")
                it.run("./kverbs", "devices").output.lines() shouldContain "-XX:AOTCache=$cache"
            }
        }

        test("should run without a cache of classes where this user can't write").config(enabled = canBeNobody) {
            built().use {
                it.script("jdk/bin/java", JAVA)
                (it.root / "cli/target/lib/a.jar").writeText("new")
                it.run("chmod", "-R", "go-w,a+rX", "${it.root}")
                val asNobody = it.run("setpriv", "--reuid=65534", "--clear-groups", "./kverbs", "devices")
                asNobody shouldBe Outcome(0, "$OF_SHORT-jar\n${it.root}/cli/target/kverbs-cli.jar\ndevices\n")
            }
        }

        test("should start a short command with the first compiler and one thread for the heap, and no other command") {
            built().use {
                it.script("jdk/bin/java", JAVA)
                listOf("devices", "devinfo", "help", "new", "completion", "--version").forEach { word ->
                    it.run("./kverbs", word).output shouldContain OF_SHORT
                }
                listOf("pingpong", "perf", "file", "script", "sample").forEach { word ->
                    it.run("./kverbs", word).output shouldNotContain "-XX:+UseSerialGC"
                }
                val named = it.run("bash", "-c", "KVERBS_JAVA_OPTIONS=-XX:+UseZGC ./kverbs devices").output
                named shouldContain "-XX:+UseZGC"
                named shouldNotContain "-XX:+UseSerialGC"
                for (variable in listOf("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "KVERBS_JAVA_OPTIONS")) {
                    for (word in listOf("devices", "--version")) {
                        val command = "$variable=-XX:+UseG1GC ./kverbs $word"
                        it.run("bash", "-c", command).output shouldNotContain "-XX:+UseSerialGC"
                    }
                }
            }
        }

        test("should read the jars for the name of their cache only when one of them changed") {
            built().use {
                it.script("jdk/bin/java", JAVA)
                it.run("./kverbs", "devices")
                it.record()

                fun reads(): Int {
                    it.started.deleteIfExists()
                    it.run("./kverbs", "devices")
                    return it.started.readLines().count { name -> name == "cksum" }
                }
                reads() shouldBe 0
                (it.root / "cli/target/lib/a.jar").writeText("new")
                reads() shouldBe 1
                reads() shouldBe 0
                (it.root / "cli/target/jars.sum").writeText("no sum")
                reads() shouldBe 1
            }
        }

        test("should not build again for a jar that Maven wrote anew from the same sources") {
            built().use {
                (it.root / "core-java/target/kverbs-core.jar").age(-1)
                it.run("./kverbs", "devices").output shouldNotContain BUILDING
            }
        }

        test("should not build what Maven built, in whatever order its threads made the jars") {
            built().use {
                (it.root / ".cache/built-cli").deleteExisting()
                (it.root / "core-java/target/kverbs-core.jar").age(-1)
                it.run("./kverbs", "devices").output shouldNotContain BUILDING
            }
        }

        test("should build again when a jar is older than a source that it needs, and it was not built here before") {
            built().use {
                (it.root / ".cache/built-cli").deleteExisting()
                (it.root / "core-java/src/main/A.java").age(30)
                (it.root / "core-java/target/kverbs-core.jar").age(-1)
                (it.root / "dsl/target/kverbs-dsl.jar").age(40)
                it.run("./kverbs", "devices").output shouldContain BUILDING
            }
        }

        test("should not run what could not be built") {
            built().use {
                it.program("mvn", "echo does not compile; exit 1")
                (it.root / "pom.xml").age(-1)
                val (status, output) = it.run("./kverbs", "devices")
                status shouldBe 1
                output shouldContain "does not compile"
                output shouldContain "the build failed"
                output shouldNotContain "java devices"
            }
        }

        test("should name the package when there is no Maven to build with") {
            ScratchProject().use {
                it.run("./kverbs") shouldBe
                    Outcome(1, "kverbs: Maven is needed to build it; as root: apt-get install maven\n")
            }
        }

        test("should say what it needs where there is no JDK at all").config(enabled = canHide) {
            built().use {
                val nowhere = it.file("nowhere/file").parent
                val hide = "mount --bind $nowhere /usr/lib/jvm; unset KVERBS_JAVA_HOME JAVA_HOME JAVA25_HOME"
                val (status, output) = it.run("unshare", "-rm", "bash", "-c", "$hide; ./kverbs devices")
                status shouldBe 1
                output shouldBe
                    "kverbs needs a JDK 25: install one under /usr/lib/jvm, or set KVERBS_JAVA_HOME to its home.\n"
            }
        }

        test("should keep Maven's libraries in the checkout where the user's folder can't be written, and say so")
            .config(enabled = canBeNobody) {
                ScratchProject().use {
                    it.program("mvn", $$"echo \"mvn $*\"; exit 1")
                    it.run("chmod", "-R", "a+rwX", "${it.root}")
                    val (status, output) = it.run("setpriv", "--reuid=65534", "--clear-groups", "./kverbs", "devices")
                    status shouldBe 1
                    val libraries = "${it.root}/.cache/m2"
                    output shouldContain "can't be written, so Maven's libraries go to $libraries\n"
                    output shouldContain "-Dmaven.repo.local=$libraries "
                }
            }

        test("should say that a checkout can't be built where this user can't write").config(enabled = canBeNobody) {
            ScratchProject().use {
                it.program("mvn", "echo built")
                it.run("chmod", "-R", "go-w,a+rX", "${it.root}")
                val (status, output) = it.run("setpriv", "--reuid=65534", "--clear-groups", "./kverbs", "devices")
                status shouldBe 1
                output shouldBe
                    "kverbs: it is built in its own folder, and this user can't write to ${it.root}: " +
                    "take a copy, or build it as its owner\n"
            }
        }

        test("should say where it looked when KVERBS_JAVA_HOME is no JDK 25") {
            built().use {
                val other = it.file("jdk17/release", "JAVA_VERSION=\"17.0.1\"\n").parent
                it.run("./kverbs", javaHome = other) shouldBe
                    Outcome(
                        1,
                        "KVERBS_JAVA_HOME is $other, which has no JDK 25: " +
                            "set it to the home of a JDK 25, or unset it.\n",
                    )
            }
        }

        test("should run from another directory and through a symbolic link") {
            built().use {
                val elsewhere = createTempDirectory("elsewhere")
                val link = Files.createSymbolicLink(elsewhere / "kv", it.root / "kverbs")
                it.run("$link", "devices", "-v", directory = elsewhere) shouldBe Outcome(7, "java devices -v\n")
                link.deleteExisting()
                elsewhere.deleteExisting()
            }
        }

        test("should run devinfo for ibv_devinfo, by a link of that name or as a command of ibtool") {
            built().use {
                val link = Files.createSymbolicLink(it.root / "ibv_devinfo", it.root / "ibtool")
                it.run("$link", "-v") shouldBe Outcome(7, "java devinfo -v\n")
                it.run("./ibtool", "ibv_devinfo", "-l") shouldBe Outcome(7, "java devinfo -l\n")
            }
        }

        test("should give the lab its command and pass on the exit status") {
            built().use {
                it.script("lab/lab.sh", $$"echo \"lab: $*\"; exit 5")
                it.run("./kverbs", "lab", "ibv_devices; true") shouldBe Outcome(5, "lab: ibv_devices; true\n")
            }
        }

        test("should take --debug in front of the lab") {
            built().use {
                it.script("lab/lab.sh", $$"echo \"lab: $*\"; exit 5")
                it.run("./kverbs", "--debug", "lab", "ibv_devices; true") shouldBe
                    Outcome(5, "lab: ibv_devices; true\n")
            }
        }

        test("should give the comparisons their options, and pass on the exit status; their help is the program's") {
            built().use {
                it.script("benchmarks/bench", $$"echo \"bench: $*\"; exit 5")
                it.run("./kverbs", "bench", "--only", "tcp") shouldBe Outcome(5, "bench: --only tcp\n")
                it.run("./kverbs", "--debug", "bench", "--list") shouldBe Outcome(5, "bench: --debug --list\n")
                it.run("./kverbs", "bench", "--help") shouldBe Outcome(7, "java bench --help\n")
            }
        }

        listOf("--help" to 0, "-h" to 0, "--hlep" to 2, "" to 2).forEach { (option, status) ->
            test("should take '$option' behind lab for an option: explain, build nothing, boot nothing") {
                ScratchProject().use {
                    it.program("mvn", "echo built")
                    it.program("qemu-system-x86_64", "echo booted")
                    it.program("apt-get", "echo installed")
                    val outcome = it.run("./kverbs", "lab", option)
                    outcome.status shouldBe status
                    outcome.output shouldContain "lab.sh 'COMMAND'"
                    listOf("building", "built", "booted", "installed").forEach { word ->
                        outcome.output shouldNotContain
                            word
                    }
                }
            }
        }

        listOf("../elsewhere", "a/b", "..", ".hidden", "Upper").forEach { name ->
            test("should refuse '$name' for the kernel's package: the lab replaces the folder of that name") {
                ScratchProject().use {
                    it.program("apt-get", "echo installed")
                    it.run("bash", "-c", "KVERBS_LAB_KERNEL=$name lab/lab.sh true") shouldBe
                        Outcome(2, "lab: KVERBS_LAB_KERNEL=$name is not the name of a package\n")
                }
            }
        }

        test("should answer its options before anything is built, and build nothing for them") {
            ScratchProject().use {
                it.program("mvn", "echo built")
                it.file("pom.xml", "<project>\n  <version>1.2.3</version>\n</project>\n")
                listOf("--help", "-h").forEach { option ->
                    val outcome = it.run("./kverbs", option)
                    outcome.output shouldContain "./kverbs COMMAND [OPTIONS]"
                    outcome.status shouldBe 0
                }
                it.run("./kverbs", "--version") shouldBe Outcome(0, "kverbs 1.2.3, not built yet\n")
                it.run("./kverbs", "--hlep").status shouldBe 2
            }
        }

        test("should leave its options to what was built, even when sources are newer") {
            built().use {
                (it.root / "pom.xml").age(-1)
                it.run("./kverbs", "--help") shouldBe
                    Outcome(7, "java ${it.root}/cli/target/kverbs-cli.jar --help\n")
            }
        }

        test("should look at the JDK, once at the sources and once at the jars, and then become the JVM") {
            built().use {
                it.script("jdk/bin/java", JAVA)
                it.run("./kverbs", "devices") // makes the archive of classes, which later ones have
                it.script("jdk/bin/java", $$"echo java >> $${it.started}; echo java in $BASHPID")
                it.record()
                val (status, output) = it.run("bash", "-c", $$"echo shell in $BASHPID; exec ./kverbs devices")
                status shouldBe 0
                val (shell, java) = output.lines()
                java.substringAfter("java in ") shouldBe shell.substringAfter("shell in ")
                it.started.readLines().groupingBy { name -> name }.eachCount() shouldBe
                    mapOf("readlink" to 1, "find" to 1, "stat" to 1, "java" to 1)
            }
        }

        listOf(
            "embedded/fuzz",
            "management/fuzz",
            "coroutines/storm",
            "coroutines/churn",
            "benchmarks/run",
            "benchmarks/bench",
            "benchmarks/udp",
            "benchmarks/latency",
            "benchmarks/coroutines",
            "benchmarks/channels",
            "benchmarks/embedded",
        ).forEach { script ->
            test("should take '--help' of $script for an option, and start nothing") {
                ScratchProject().use {
                    val program = Path.of(System.getProperty("kverbs.root"), script)
                    val outcome = it.run("$program", "--help")
                    outcome.output.lines().first() shouldBe program.readLines()[1].removePrefix("# ")
                    outcome.status shouldBe 0
                }
            }
        }
    })
