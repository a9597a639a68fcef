import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;

/** The sections of a 64-bit little-endian ELF object file, found by name (elf(5)). */
final class Elf {
    private static final int HEADER_SHOFF = 40;
    private static final int HEADER_SHENTSIZE = 58;
    private static final int SECTION_OFFSET = 24;
    private static final int SECTION_SIZE = 32;

    private final ByteBuffer file;

    private Elf(ByteBuffer file) {
        this.file = file;
    }

    static Elf read(Path path) throws IOException {
        var file = ByteBuffer.wrap(Files.readAllBytes(path)).order(ByteOrder.LITTLE_ENDIAN);
        boolean elf64Little = file.limit() > 64 && file.getInt(0) == 0x464c457f && file.get(4) == 2 && file.get(5) == 1;
        if (!elf64Little) {
            throw new GeneratorException("gcc did not write a 64-bit little-endian ELF object; generate on x86_64 "
                    + "Linux.");
        }
        return new Elf(file);
    }

    /** Returns the bytes of a section, little-endian, with position zero at its start. */
    ByteBuffer section(String name) {
        int count = Short.toUnsignedInt(file.getShort(HEADER_SHENTSIZE + 2));
        int names = contentOffset(header(Short.toUnsignedInt(file.getShort(HEADER_SHENTSIZE + 4))));
        for (int i = 0; i < count; i++) {
            int header = header(i);
            if (string(file, names + file.getInt(header)).equals(name)) {
                int size = Math.toIntExact(file.getLong(header + SECTION_SIZE));
                return file.slice(contentOffset(header), size).order(ByteOrder.LITTLE_ENDIAN);
            }
        }
        throw new GeneratorException("gcc wrote no section " + name + "; GCC 12 or later is needed for -gbtf.");
    }

    private int header(int index) {
        int size = Short.toUnsignedInt(file.getShort(HEADER_SHENTSIZE));
        return Math.toIntExact(file.getLong(HEADER_SHOFF)) + index * size;
    }

    private int contentOffset(int header) {
        return Math.toIntExact(file.getLong(header + SECTION_OFFSET));
    }

    /** Returns the NUL-terminated ASCII string at an offset. */
    static String string(ByteBuffer bytes, int offset) {
        var text = new StringBuilder();
        for (int i = offset; bytes.get(i) != 0; i++) {
            text.append((char) bytes.get(i));
        }
        return text.toString();
    }
}
