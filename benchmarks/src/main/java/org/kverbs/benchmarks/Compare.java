package org.kverbs.benchmarks;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.CommandLineOptionException;
import org.openjdk.jmh.runner.options.CommandLineOptions;
import org.openjdk.jmh.runner.options.OptionsBuilder;

/** Runs the C loops and the JMH benchmarks, and prints their results side by side. {@code benchmarks/run} starts it. */
public final class Compare {

    private record Row(String what, String c, String benchmark, Map<String, String> parameters) {}

    private Compare() {}

    /**
     * Runs all benchmarks.
     *
     * @param arguments options for JMH, such as {@code -f 3}; the system property {@code kverbs.loops} names the C
     *     program
     */
    public static void main(String[] arguments)
            throws IOException, InterruptedException, RunnerException, CommandLineOptionException {
        Map<String, Double> c = runC(System.getProperty("kverbs.loops"));
        var options = new OptionsBuilder()
                .parent(new CommandLineOptions(arguments))
                .include("org.kverbs.benchmarks.Po(st|ll)ing")
                .addProfiler(GCProfiler.class)
                .build();
        Collection<RunResult> results = new Runner(options).run();

        System.out.printf("%n%-44s%10s%10s%8s%8s%n", "ns a call, on a device that moves nothing", "kverbs", "C",
                "ratio", "B/call");
        for (Row row : rows()) {
            for (RunResult result : results) {
                if (isOf(result, row)) {
                    double ours = result.getPrimaryResult().getScore();
                    System.out.printf(
                            "%-44s%10.1f%10.1f%8.1f%8.0f%n", row.what, ours, c.get(row.c), ours / c.get(row.c),
                            allocated(result));
                }
            }
        }
        System.out.println("\nsystem call: posted as to a driver that makes a system call (Soft-RoCE), though this"
                + " driver makes none;"
                + " the others are posted as to a card.");
    }

    private static Row[] rows() {
        Map<String, String> none = Map.of("completions", "false");
        Map<String, String> full = Map.of("completions", "true");
        Map<String, String> card = Map.of("shortPost", "true");
        Map<String, String> call = Map.of("shortPost", "false");
        return new Row[] {
            new Row("empty poll(batch)", "emptyPoll", "Polling.batch", none),
            new Row("empty poll(handler)", "emptyPoll", "Polling.handler", none),
            new Row("poll(batch) of 16, 5 fields of each read", "pollAndDecode", "Polling.batch", full),
            new Row("poll(handler) of 16, 5 fields of each read", "pollAndDecode", "Polling.handler", full),
            new Row("post of a write, built before", "prebuiltWrite", "Posting.prebuiltWrite", card),
            new Row("post of a write, without a list", "write", "Posting.postWrite", card),
            new Row("post of a write", "write", "Posting.write", card),
            new Row("post of 16 writes", "writeList", "Posting.writeList", card),
            new Row("post of 16 writes in the program's own list", "writeList", "Posting.ownList", card),
            new Row("post of a receive", "postReceive", "Posting.postReceive", card),
            new Row("post of a write, built before; system call", "prebuiltWrite", "Posting.prebuiltWrite", call),
            new Row("post of a write; system call", "write", "Posting.write", call),
            new Row("post of 16 writes; system call", "writeList", "Posting.writeList", call),
            new Row("post of a receive; system call", "postReceive", "Posting.postReceive", call),
        };
    }

    private static boolean isOf(RunResult result, Row row) {
        return result.getParams().getBenchmark().endsWith("." + row.benchmark)
                && row.parameters.entrySet().stream()
                        .allMatch(p -> p.getValue().equals(result.getParams().getParam(p.getKey())));
    }

    /**
     * Returns the bytes that an operation allocates on the heap, by JMH's GC profiler. This is the median, since JMH
     * itself loads classes in the first iteration.
     */
    static double allocated(RunResult result) {
        Result<?> bytes = result.getSecondaryResults().get("gc.alloc.rate.norm");
        if (bytes == null) {
            throw new IllegalStateException("JMH reported no allocation for " + result.getParams().getBenchmark());
        }
        return bytes.getStatistics().getPercentile(50);
    }

    private static Map<String, Double> runC(String program) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(program)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        var nanos = new HashMap<String, Double>();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        for (String line : output.lines().toList()) {
            String[] words = line.split(" ", -1);
            nanos.put(words[0], Double.valueOf(words[1]));
        }
        if (process.waitFor() != 0) {
            throw new IllegalStateException(program + " failed");
        }
        return nanos;
    }
}
