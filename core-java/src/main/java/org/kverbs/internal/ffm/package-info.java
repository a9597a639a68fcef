/**
 * The provider of libibverbs and librdmacm, and the only package that calls native code: those two libraries,
 * those of drivers (NativeDriverLibrary), and the few functions of the C library that waiting needs.
 *
 * <pre>
 *   NativeProvider --> NativeDevice --> NativeContext --> Native*Ops       the seam's calls
 *         |                                  |
 *         '--> NativeConnectionManager       |
 *                    |                       |
 *                Librdmacm               Libibverbs, ContextTables         one small method a native function
 *                    '-----------+-----------'
 *                        NativeLibrary, Downcalls, ThreadErrno, Libc
 * </pre>
 *
 * <p>It stands above {@link org.kverbs}, whose exceptions it throws, and is found as every provider is: nothing names
 * it but {@code META-INF/services} and the module's {@code provides}. Not part of the public API.
 */
@NullMarked
package org.kverbs.internal.ffm;

import org.jspecify.annotations.NullMarked;
