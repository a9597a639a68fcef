import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** Asks the C compiler for the types, the macros and the values of constants in the headers. */
final class Gcc {
    private static final String VALUES_SECTION = ".kverbs_values";

    private final Path folder;
    private final String includes;

    /** Makes an instance that writes temporary C and object files to {@code folder}. */
    Gcc(Path folder, List<String> headers) {
        this.folder = folder;
        this.includes = include(headers);
    }

    /** Returns every type of the headers, also types that no variable uses. */
    Btf types() throws IOException, InterruptedException {
        return new Btf(compile("types", includes, "-gbtf", "-fno-eliminate-unused-debug-types").section(".BTF"));
    }

    /**
     * Returns the object-like macros that a header and the headers it includes define and whose names begin with the
     * prefix.
     */
    Collection<String> macros(String header, String prefix) throws IOException, InterruptedException {
        var names = new TreeSet<String>();
        for (String line : run("macros", include(List.of(header)), "-E", "-dM").split("\n")) {
            String[] words = line.split(" ", 3);
            if (words.length == 3 && words[1].startsWith(prefix) && !words[1].contains("(")) {
                names.add(words[1]);
            }
        }
        return names;
    }

    /** Returns the value of each C constant, as 64 bits. Reads the object file and does not run it. */
    Map<String, Long> values(Collection<String> names) throws IOException, InterruptedException {
        var ordered = new ArrayList<>(new TreeSet<>(names));
        String source = includes
            + "__attribute__((used, section(\"" + VALUES_SECTION + "\"))) const long long values[] = {\n"
            + ordered.stream().map(name -> "(long long)(" + name + "),\n").collect(Collectors.joining()) + "};\n";
        ByteBuffer bytes = compile("values", source).section(VALUES_SECTION);
        var values = new TreeMap<String, Long>();
        for (int i = 0; i < ordered.size(); i++) {
            values.put(ordered.get(i), bytes.getLong(i * Long.BYTES));
        }
        return values;
    }

    /**
     * Returns a switch over the enumerators of an enum that were found. GCC 12 silently leaves enumerators above 2^31 -
     * 1 out of the BTF, so the compiler checks them again: {@link #checkComplete} fails if a switch does not handle all
     * of them.
     */
    static String completeSwitch(String cType, Collection<String> names, Map<String, Long> values) {
        var seen = new TreeSet<Long>();
        String cases = names.stream().filter(name -> seen.add(values.get(name)))
            .map(name -> "case " + name + ": ").collect(Collectors.joining());
        return "void check_" + cType.replace(' ', '_') + "(" + cType + " e) { switch (e) { " + cases + "; } }\n";
    }

    void checkComplete(CharSequence switches) throws IOException, InterruptedException {
        compile("complete", includes + switches, "-Werror=switch");
    }

    private static String include(List<String> headers) {
        return headers.stream().map(header -> "#include <" + header + ">\n").collect(Collectors.joining());
    }

    private Elf compile(String name, String source, String... options) throws IOException, InterruptedException {
        Path object = folder.resolve(name + ".o");
        var all = new ArrayList<>(List.of("-c", "-o", object.toString()));
        all.addAll(List.of(options));
        run(name, source, all.toArray(String[]::new));
        return Elf.read(object);
    }

    private String run(String name, String source, String... options) throws IOException, InterruptedException {
        Path file = Files.writeString(folder.resolve(name + ".c"), source);
        var command = new ArrayList<>(List.of("gcc", file.toString()));
        command.addAll(List.of(options));
        Process gcc = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(gcc.getInputStream().readAllBytes());
        if (gcc.waitFor() != 0) {
            throw new GeneratorException("gcc rejected the headers or a name in bindings.txt (an enumeration value "
                    + "that is\n"
                + "'not handled in switch' must be named on the line of its enum):\n" + output);
        }
        return output;
    }
}
