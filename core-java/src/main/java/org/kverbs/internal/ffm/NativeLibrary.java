package org.kverbs.internal.ffm;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import org.kverbs.LibraryUnavailableException;

/** A loaded shared library whose functions are looked up when they are first called. */
final class NativeLibrary {

    private final String file;
    private final SymbolLookup symbols;

    private NativeLibrary(String file, SymbolLookup symbols) {
        this.file = file;
        this.symbols = symbols;
    }

    /**
     * Loads a library by its file name ({@code libibverbs.so.1}) as the dynamic linker finds it, or by its path.
     *
     * @throws LibraryUnavailableException if it isn't there, or if this program may not call native code
     */
    static NativeLibrary load(String file) {
        try {
            return new NativeLibrary(file, SymbolLookup.libraryLookup(file, Arena.global()));
        } catch (IllegalCallerException e) {
            throw LibraryUnavailableException.nativeAccessDenied(file, e);
        } catch (IllegalArgumentException e) {
            throw LibraryUnavailableException.notFound(file, e);
        }
    }

    /** A function that every release of rdma-core has, looked up at its first call. */
    Function function(String symbol) {
        return function(symbol, 0);
    }

    /**
     * A function that is looked up at its first call; {@code release} is the first rdma-core that has it, for the
     * error.
     */
    Function function(String symbol, int release) {
        return new Function(symbol, release);
    }

    /** A native function by name. Safe for any thread: a lost race looks the same address up twice. */
    final class Function {
        private final String symbol;
        private final int release;
        private volatile MemorySegment address = MemorySegment.NULL;

        private Function(String symbol, int release) {
            this.symbol = symbol;
            this.release = release;
        }

        /** Whether the loaded library has it. */
        boolean isPresent() {
            return symbols.find(symbol).isPresent();
        }

        /** Its address, or the exception that says which release has it. */
        MemorySegment address() {
            MemorySegment found = address;
            if (found.address() == 0) {
                found = symbols.find(symbol)
                        .orElseThrow(() -> LibraryUnavailableException.functionMissing(file, symbol, release));
                address = found;
            }
            return found;
        }
    }
}
