import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The list of the bound types and constants from bindings.txt. The comment at the top of that file describes its
 * grammar.
 */
record Bindings(String packageName, List<String> headers, List<Binding> all) {

    enum Kind { STRUCT, UNION, ENUM, CONSTANTS }

    /**
     * A class to generate. {@code names} has only the name of the C type, or the names and patterns of a constants
     * line.
     */
    record Binding(String header, Kind kind, String className, List<String> names) {
        /** The C type, for example {@code struct ibv_wc}. */
        String cType() {
            return kind.name().toLowerCase(Locale.ROOT) + " " + names.get(0);
        }
    }

    static Bindings read(Path path) throws IOException {
        String packageName = "";
        List<String> headers = new ArrayList<>();
        List<Binding> all = new ArrayList<>();
        for (String line : Files.readAllLines(path)) {
            List<String> words = List.of(line.replaceFirst("#.*", "").trim().split("\\s+"));
            switch (words.get(0)) {
                case "" -> { }
                case "package" -> packageName = words.get(1);
                case "header" -> headers.add(words.get(1));
                default -> all.add(binding(headers.getLast(), words));
            }
        }
        return new Bindings(packageName, headers, all);
    }

    private static Binding binding(String header, List<String> words) {
        String first = words.get(0);
        List<String> rest = words.subList(1, words.size());
        return switch (first) {
            case "struct", "union", "enum" ->
                new Binding(header, Kind.valueOf(first.toUpperCase(Locale.ROOT)), camelCase(rest.get(0)), rest);
            case "constants" -> new Binding(header, Kind.CONSTANTS, rest.get(0), rest.subList(1, rest.size()));
            default -> throw new GeneratorException("bindings.txt: a line begins with '" + first
                + "'; only package, header, struct, union, enum and constants are known.");
        };
    }

    private static String camelCase(String cName) {
        var name = new StringBuilder();
        for (String part : cName.split("_")) {
            name.append(part.substring(0, 1).toUpperCase(Locale.ROOT)).append(part.substring(1));
        }
        return name.toString();
    }
}
