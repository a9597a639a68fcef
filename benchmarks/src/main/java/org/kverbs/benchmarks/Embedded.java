package org.kverbs.benchmarks;

import java.util.Collection;
import java.util.function.Predicate;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.CommandLineOptionException;
import org.openjdk.jmh.runner.options.CommandLineOptions;
import org.openjdk.jmh.runner.options.OptionsBuilder;

/** Runs the benchmarks of the embedded device, and prints their results. {@code benchmarks/embedded} starts it. */
public final class Embedded {

    private Embedded() {}

    /**
     * Runs all benchmarks.
     *
     * @param arguments options for JMH, such as {@code -f 3}
     */
    public static void main(String[] arguments) throws RunnerException, CommandLineOptionException {
        var options = new OptionsBuilder()
                .parent(new CommandLineOptions(arguments))
                .include("org.kverbs.benchmarks.(Moving|RoundTrip|Sharing|TcpRoundTrip)")
                .addProfiler(GCProfiler.class)
                .build();
        Collection<RunResult> results = new Runner(options).run();

        System.out.printf("%n%-68s%10s%16s%8s%n", "two embedded devices of one JVM", "ns", "", "B/op");
        RunResult send = find(results, "Moving.oneSend");
        RunResult list = find(results, "Moving.sendList");
        RunResult write = find(results, "Moving.largeWrite");
        print("send of 64 bytes: post both ends, poll both ends, one thread", send, millions(send));
        print("the same in lists of 16", list, millions(list));
        print("write of 1 MiB: post and poll, one thread", write, "%.1f GB/s".formatted(Moving.LARGE / nanos(write)));
        RunResult smallAlone = find(results, "Sharing.smallAlone");
        RunResult largeAlone = find(results, "Sharing.largeAlone");
        print("write of 64 bytes, one thread alone", smallAlone, "1 thread");
        printBeside("the same in each of two threads", smallAlone, find(results, "Sharing.smallBeside"));
        print("write of 1 MiB, one thread alone", largeAlone, "1 thread");
        printBeside("the same in each of two threads", largeAlone, find(results, "Sharing.largeBeside"));
        RunResult tcp = find(results, "TcpRoundTrip.roundTrip");
        print("TCP round trip of 64 bytes, blocking, two threads", tcp, "");
        for (RoundTrip.Wire wire : RoundTrip.Wire.values()) {
            for (boolean two : new boolean[] {false, true}) {
                RunResult trip = find(
                        results, "RoundTrip.roundTrip",
                        result -> isOf(result, "wire", wire) && isOf(result, "twoThreads", two));
                String factor = "TCP / %.1f".formatted(nanos(tcp) / nanos(trip));
                print("round trip of 64 bytes, polling, " + name(wire) + (two ? "two threads" : "one thread"), trip,
                        factor);
            }
        }
    }

    private static String name(RoundTrip.Wire wire) {
        return switch (wire) {
            case MEMORY -> "";
            case UDP -> "over UDP, ";
            case UDP_APART -> "over UDP, no common lock, ";
        };
    }

    private static boolean isOf(RunResult result, String parameter, Object value) {
        return String.valueOf(value).equals(result.getParams().getParam(parameter));
    }

    private static RunResult find(Collection<RunResult> results, String name) {
        return find(results, name, result -> true);
    }

    private static RunResult find(Collection<RunResult> results, String name, Predicate<RunResult> wanted) {
        return results.stream()
                .filter(result -> result.getParams().getBenchmark().endsWith("." + name))
                .filter(wanted)
                .findFirst()
                .orElseThrow(
                        () -> new IllegalStateException("JMH has no result of " + name + ": the benchmark failed,"
                                + " see its messages above"));
    }

    private static double nanos(RunResult result) {
        return result.getPrimaryResult().getScore();
    }

    /** Prints an operation of each of two threads, and how many threads alone do as much together. */
    private static void printBeside(String what, RunResult alone, RunResult beside) {
        print(what, beside, "%.2f threads".formatted(2 * nanos(alone) / nanos(beside)));
    }

    private static String millions(RunResult result) {
        return "%.2f million/s".formatted(1e3 / nanos(result));
    }

    private static void print(String what, RunResult result, String rate) {
        System.out.printf("%-68s%10.0f%16s%8.0f%n", what, nanos(result), rate, Compare.allocated(result));
    }
}
