package org.kverbs.testkit.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** Runs test classes as a user of the extension writes them. */
class RdmaExtensionTest {

    private static Map<String, TestExecutionResult> run(Class<?> tests, boolean inParallel) {
        Map<String, TestExecutionResult> results = new ConcurrentHashMap<>();
        var request = LauncherDiscoveryRequestBuilder.discoveryRequest()
                .selectors(selectClass(tests))
                .configurationParameter("junit.jupiter.execution.parallel.enabled", String.valueOf(inParallel))
                .configurationParameter("junit.jupiter.execution.parallel.mode.default", "concurrent")
                .configurationParameter("junit.jupiter.execution.parallel.config.strategy", "fixed")
                .configurationParameter("junit.jupiter.execution.parallel.config.fixed.parallelism", "2")
                .build();
        LauncherFactory.create().execute(request, new TestExecutionListener() {
            @Override
            public void executionFinished(TestIdentifier test, TestExecutionResult result) {
                if (test.isTest()) {
                    results.put(test.getDisplayName().replaceAll("\\(.*", ""), result);
                }
            }
        });
        return results;
    }

    private static Map<String, String> failures(Map<String, TestExecutionResult> results) {
        Map<String, String> failures = new TreeMap<>();
        results.forEach((test, result) ->
                result.getThrowable().ifPresent(failure -> failures.put(test, String.valueOf(failure.getMessage()))));
        return failures;
    }

    @Test
    void shouldFailTheTestThatLeaksAmongTheOthers() {
        Map<String, TestExecutionResult> results = run(Leaks.class, false);
        Map<String, String> failures = failures(results);
        assertEquals(4, results.size());
        assertEquals(Set.of("leaks", "failsByItself"), failures.keySet());
        assertEquals("its own", failures.get("failsByItself"));
        String leak = failures.get("leaks");
        assertTrue(leak.contains("1 resource is still open"), leak);
        assertTrue(leak.contains("Leaks.leaks(Leaks.java:"), leak);
    }

    @Test
    void shouldFailTheRightOneOfTwoTestsThatRunAtTheSameTime() {
        Map<String, TestExecutionResult> results = run(ParallelLeaks.class, true);
        assertEquals(2, results.size());
        assertEquals(Set.of("leaks"), failures(results).keySet());
    }

    @Test
    void shouldGiveATestAFabricAndDevicesOfItsOwn() {
        Map<String, TestExecutionResult> results = run(Devices.class, false);
        assertEquals(4, results.size());
        Map<String, String> failures = failures(results);
        assertEquals(Set.of("isAskedForSomethingElse", "misuses"), failures.keySet());
        String misuse = failures.get("misuses");
        assertTrue(misuse.contains("memory was freed while it was registered, once"), misuse);
    }

    @Test
    void shouldRunTestsWhoseBodyIsAFixture() {
        Map<String, TestExecutionResult> results = run(Bodies.class, false);
        assertEquals(Map.of(), failures(results));
        assertEquals(
                Set.of("pair", "pairOfAType", "coroutines", "coroutinesOfAType", "channels", "hosts", "leaks"),
                results.keySet());
    }

    @Test
    void shouldBringNoOtherTestFramework() {
        assertThrows(ClassNotFoundException.class, () -> Class.forName("io.kotest.core.spec.Spec"));
        assertThrows(ClassNotFoundException.class, () -> Class.forName("io.kotest.matchers.Matcher"));
    }
}
