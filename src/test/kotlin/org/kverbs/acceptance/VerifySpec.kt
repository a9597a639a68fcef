package org.kverbs.acceptance

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeLessThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain

/** Makes a JUnit report with this many [tests], of which the given numbers did not pass. */
private fun report(
    tests: Int,
    failures: Int = 0,
    errors: Int = 0,
    skipped: Int = 0,
) = "<?xml version=\"1.0\"?>\n<testsuite name=\"A\" tests=\"$tests\" errors=\"$errors\" skipped=\"$skipped\" " +
    "failures=\"$failures\">" +
    "<testcase name=\"&lt;testsuite tests=&quot;99&quot;\"/></testsuite>"

/**
 * A project whose `mvn` exits with [unitStatus] and leaves [unit] as reports; the stand-ins of its users' projects and
 * its lab do the same with theirs.
 */
private fun project(
    unit: List<String> = listOf(report(1)),
    unitStatus: Int = 0,
    users: List<String> = listOf(report(1)),
    usersStatus: Int = 0,
    lab: List<String> = listOf(report(1)),
    labStatus: Int = 0,
    figuresStatus: Int = 0,
) = ScratchProject().apply {
    file("src/test/target/classpath", "library.jar")
    file("src/test/target/test-classes/org/kverbs/acceptance/lab/ASpec.class")
    file("src/test/target/test-classes/org/kverbs/acceptance/lab/ASpec\$1.class")
    file("src/test/target/test-classes/org/kverbs/acceptance/contract/BSpec.class")
    file("src/test/target/test-classes/org/kverbs/acceptance/newer/CSpec.class")
    file("src/test/target/test-classes/org/kverbs/acceptance/contract/SendSpec.class")
    unit.forEachIndexed { i, text -> file("new/unit/TEST-$i.xml", text) }
    users.forEachIndexed { i, text -> file("new/users/TEST-$i.xml", text) }
    lab.forEachIndexed { i, text -> file("new/lab/TEST-$i.xml", text) }
    val copy = {
        from: String,
        to: String,
        ->
        $$"mkdir -p $$to; for f in new/$$from/*; do [ ! -f $f ] || cat $f > $$to/${f##*/}; done"
    }
    val complaint = if (unitStatus == 0) "" else "echo '[ERROR] lint says no';"
    program("mvn", "${copy("unit", "dsl/target/surefire-reports")}; $complaint exit $unitStatus")
    script("benchmarks/run", $$"echo costs of calls $*; exit $$figuresStatus")
    script(
        "integration/run",
        $$"echo \"users run: $KVERBS_BUILT\"; $${copy("users", "target/integration")}; exit $$usersStatus",
    )
    script("lab/lab.sh", $$"echo \"lab runs: $1\"; $${copy("lab", "target/lab")}; exit $$labStatus")
}

private fun Outcome.lastLine() = output.trimEnd().lines().last()

class VerifySpec :
    FunSpec({
        test("should add up the tests of all lanes and end with the sum") {
            project(
                unit = listOf(report(5, skipped = 1), report(3)),
                users = listOf(report(2), report(1)),
                lab = listOf(report(7, skipped = 2)),
            ).use {
                val outcome = it.run("./verify")
                outcome.lastLine() shouldBe "15 passed, 0 failed, 3 skipped"
                outcome.status shouldBe 0
            }
        }

        test("should fail when a report tells of failures and errors, whatever the exit status was") {
            project(unit = listOf(report(5, failures = 1, errors = 2))).use {
                val outcome = it.run("./verify")
                outcome.lastLine() shouldBe "4 passed, 3 failed, 0 skipped"
                outcome.status shouldBe 1
            }
        }

        test("should fail when a lane left no report") {
            project(lab = emptyList()).use {
                val outcome = it.run("./verify")
                outcome.output shouldContain "failed: it ran no test"
                outcome.lastLine() shouldBe "2 passed, 1 failed, 0 skipped"
                outcome.status shouldBe 1
            }
        }

        test("should fail when every test of a lane was skipped") {
            project(lab = listOf(report(2, skipped = 2))).use { it.run("./verify").status shouldBe 1 }
        }

        test("should fail when a lane's command failed though its tests passed, and say at its end why") {
            project(unitStatus = 1).use {
                val outcome = it.run("./verify", "unit")
                outcome.output.trimEnd().lines().takeLast(2) shouldBe
                    listOf("  lint says no", "1 passed, 1 failed, 0 skipped")
                outcome.status shouldBe 1
            }
        }

        test("should fail when a project of users failed though its tests passed") {
            project(usersStatus = 1).use {
                val outcome = it.run("./verify", "users")
                outcome.lastLine() shouldBe "1 passed, 1 failed, 0 skipped"
                outcome.status shouldBe 1
            }
        }

        test("should compare what users get with what the unit lane has built, if it has") {
            project().use {
                it.run("./verify", "unit", "users").output shouldContain "users run: 1\n"
                it.run("./verify", "users").output shouldContain "users run: \n"
            }
        }

        test("should show figures after the tests of the unit lane and the lab") {
            project().use {
                val outcome = it.run("./verify")
                outcome.output shouldContain "== figures\ncosts of calls --gate\n"
                outcome.output shouldContain "benchmarks/latency"
            }
        }

        test("should fail a lane whose calls cost too much or can't be measured, and say so at its end") {
            project(figuresStatus = 3).use {
                val outcome = it.run("./verify", "unit")
                outcome.output.trimEnd().lines().takeLast(2) shouldBe
                    listOf(
                        "  a call costs too much beside C, or the figures could not be had: " +
                            "benchmarks/run --gate says above which",
                        "1 passed, 1 failed, 0 skipped",
                    )
                outcome.status shouldBe 1
            }
        }

        test("should not count the reports of an earlier run") {
            project(unit = emptyList()).use {
                it.file("core-java/target/surefire-reports/TEST-old.xml", report(9))
                it.run("./verify", "unit").lastLine() shouldBe "0 passed, 1 failed, 0 skipped"
            }
        }

        test("should run the named lane alone, and every spec of the lab by its name") {
            project(unit = emptyList()).use {
                val outcome = it.run("./verify", "lab")
                outcome.output shouldContain "--select-class org.kverbs.acceptance.lab.ASpec "
                outcome.output shouldContain "--select-class org.kverbs.acceptance.contract.BSpec "
                outcome.lastLine() shouldBe "1 passed, 0 failed, 0 skipped"
                outcome.status shouldBe 0
            }
        }

        test("should boot the lab again with a newer Linux, for its specs and a part of the contract") {
            project(unit = emptyList()).use {
                val reports = "cat new/lab/TEST-0.xml > $" + "KVERBS_LAB_OUT/TEST-0.xml"
                val newer = "cat new/newer/TEST-0.xml > $" + "KVERBS_LAB_OUT/TEST-0.xml; exit 3"
                it.script(
                    "lab/lab.sh",
                    $$"echo \"lab runs: $KVERBS_LAB_KERNEL $KVERBS_LAB_LIBRARIES $1\"; " +
                        $$"[ \"$1\" != --setup ] || exit 0; mkdir -p $KVERBS_LAB_OUT; case $1 in *newer.CSpec*) $$newer ;; *) $$reports ;; esac",
                )
                it.file("new/newer/TEST-0.xml", report(4))
                val outcome = it.run("./verify", "lab")
                val boot =
                    outcome.output
                        .lines()
                        .single { line -> line.startsWith("lab runs: linux-image-6.12-amd64 trixie KVERBS") }
                boot shouldContain "-Dkverbs.contract=newer-lab"
                boot shouldNotContain "ASpec"
                outcome.output shouldContain "--select-class org.kverbs.acceptance.newer.CSpec"
                boot shouldContain "--select-class org.kverbs.acceptance.contract.SendSpec"
                outcome.lastLine() shouldBe "5 passed, 1 failed, 0 skipped"
                outcome.status shouldBe 1
            }
        }

        fun ScratchProject.soaks(status: Int = 0) {
            file("new/soak", report(5))
            val folder = "coroutines/target/surefire-reports"
            val reports = "mkdir -p $folder; cat new/soak > $folder/TEST-org.kverbs.coroutines.soak.SoakSpec.xml"
            program("mvn", $$"case $* in *SoakSpec*) echo \"mvn runs: $*\"; $$reports; exit $$status ;; esac")
        }

        for ((words, minutes) in listOf(
            listOf("--slow") to 60,
            listOf("--slow", "10") to 10,
            listOf("unit", "--slow", "3") to 3,
        )) {
            test("should load the device for $minutes minutes: ./verify ${words.joinToString(" ")}") {
                project(unit = emptyList()).use {
                    it.soaks()
                    it.file("coroutines/target/surefire-reports/TEST-old.SoakSpec.xml", report(9))
                    val outcome = it.run("./verify", *words.toTypedArray())
                    outcome.output shouldContain "-Dsoak.minutes=$minutes "
                    outcome.output shouldContain "slow     5 passed, 0 failed, 0 skipped"
                    if (words.first() == "--slow") outcome.lastLine() shouldBe "5 passed, 0 failed, 0 skipped"
                }
            }
        }

        test("should begin the long load when the lanes behind it on the command line have ended") {
            project().use {
                it.soaks()
                val output = it.run("./verify", "--slow", "3", "users").output
                output.indexOf("users run: ") shouldBeLessThan output.indexOf("mvn runs: ")
            }
        }

        test("should fail when the long load failed, and be no part of the usual lanes") {
            project(unit = emptyList()).use {
                it.soaks(status = 1)
                it.run("./verify", "--slow").status shouldBe 1
                it.run("./verify").output shouldNotContain "SoakSpec"
            }
        }

        test("should refuse minutes that are no number") {
            project().use {
                val outcome = it.run("env", "KVERBS_SLOW_MINUTES=ten", "./verify", "--slow")
                outcome.output shouldContain "'ten' is no number of minutes"
                outcome.status shouldBe 2
            }
        }

        test("should explain itself when asked for a lane that does not exist") {
            project().use {
                val outcome = it.run("./verify", "everything")
                outcome.output shouldContain "./verify unit"
                outcome.status shouldBe 2
            }
        }

        listOf("--help" to 0, "-h" to 0, "--hlep" to 2).forEach { (option, status) ->
            test("should take '$option' for an option: explain itself, install nothing and run nothing") {
                project().use {
                    it.program("dpkg-query", "exit 1")
                    it.program("apt-get", "echo apt-get ran")
                    val outcome = it.run("./verify", "unit", option)
                    outcome.output shouldContain "./verify unit"
                    outcome.output shouldNotContain "== unit"
                    outcome.output shouldNotContain "apt-get ran"
                    outcome.status shouldBe status
                }
            }
        }

        test("should show what a JVM that crashed left behind, because a fresh system is thrown away with it") {
            project(unitStatus = 1).use {
                it.program("mvn", "mkdir core-java; echo '# Problematic frame' > core-java/hs_err_pid1.log; exit 1")
                it.run("./verify", "unit").output shouldContain "== ./core-java/hs_err_pid1.log\n# Problematic frame\n"
            }
        }

        test("should play the lab beside the other lanes, and show its output behind theirs") {
            project().use {
                // The unit lane's Maven waits until the lab has begun.
                it.program("mvn", $$"case $* in *verify) until [ -e began ]; do sleep 0.1; done ;; esac")
                it.script("lab/lab.sh", $$"touch ${0%/*}/../began; echo \"lab runs in $PWD\"")
                val output = it.run("./verify", "unit", "lab").output
                output shouldContain "/.cache/verify\n"
                output.indexOf("== unit") shouldBeLessThan output.indexOf("lab runs in")
            }
        }

        test("should fail the lab lane, and run the others, when what the lab needs can't be built") {
            project().use {
                it.program("mvn", $$"case $* in *skipTests*) echo no such library; exit 1 ;; esac")
                val outcome = it.run("./verify", "users", "lab")
                outcome.output shouldContain "no such library"
                outcome.lastLine() shouldBe "1 passed, 1 failed, 0 skipped"
                outcome.status shouldBe 1
            }
        }

        test("should set the lab up before the machine is read-only") {
            project().use {
                val lines = it.run("./verify", "lab").output.lines().filter { line -> line.startsWith("lab runs: ") }
                lines.map { line -> line.split(' ')[2] } shouldBe
                    listOf("--setup", "--setup", "KVERBS_TEST_DEVICE=rxe0", "KVERBS_TEST_DEVICE=rxe0")
            }
        }

        test("should catch a lane that writes to the machine").config(enabledIf = { PlayedSystem.mounts }) {
            project().use {
                it.program("mvn", "echo overwritten > ${PlayedSystem.PATH}/trial")
                val outcome = it.run(*PlayedSystem.command("exec ./verify unit"))
                outcome.output shouldContain "${PlayedSystem.PATH}/trial: Read-only file system"
                outcome.lastLine() shouldBe "0 passed, 1 failed, 0 skipped"
                outcome.status shouldBe 1
            }
        }

        test("should name the packages that are missing when it may not install them") {
            project().use {
                // dpkg-query ends like this if it does not know one of the packages
                it.program("dpkg-query", "echo gcc installed; exit 1")
                it.program("id", "echo 1000")
                val outcome = it.run("./verify")
                outcome.output shouldContain "apt-get install --no-install-recommends make git libibverbs-dev"
                outcome.status shouldBe 1
            }
        }
    })
