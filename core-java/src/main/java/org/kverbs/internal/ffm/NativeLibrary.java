package org.kverbs.internal.ffm;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import org.kverbs.LibraryUnavailableException;

/** A loaded shared library. Its functions are looked up at their first call. */
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
     * @throws LibraryUnavailableException if the library cannot be loaded, or if this program may not call native code
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

    /** Returns a function that every release of rdma-core has. */
    Function function(String symbol) {
        return function(symbol, 0);
    }

    /**
     * Returns a function that {@code release} of rdma-core was the first to have. The exception for a missing function
     * names the release.
     */
    Function function(String symbol, int release) {
        return new Function(symbol, release);
    }

    /** A native function. Safe for any thread: in a race two threads look up the same address. */
    final class Function {
        private final String symbol;
        private final int release;
        private volatile MemorySegment address = MemorySegment.NULL;

        private Function(String symbol, int release) {
            this.symbol = symbol;
            this.release = release;
        }

        /** Returns whether the loaded library has this function. */
        boolean isPresent() {
            if (address.address() == 0) {
                symbols.find(symbol).ifPresent(found -> address = found);
            }
            return address.address() != 0;
        }

        /**
         * Returns the address of this function.
         *
         * @throws LibraryUnavailableException if the library lacks it; the message names the release that has it
         */
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
