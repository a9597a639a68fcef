package org.kverbs;

import java.io.Serial;
import java.util.List;
import java.util.Optional;
import org.kverbs.internal.DeviceNodes;
import org.kverbs.internal.Providers;

/**
 * Reports that a native library is absent, too old or incomplete, or that this Java process may not call it. The
 * message names the package to install or the flag to set.
 *
 * <p>kverbs loads libibverbs when a program first asks for a device, not when classes of kverbs are loaded.
 */
public class LibraryUnavailableException extends RdmaException {
    @Serial private static final long serialVersionUID = 1L;

    private final String library;

    private LibraryUnavailableException(String library, String message) {
        super(message);
        this.library = library;
    }

    private LibraryUnavailableException(String library, String message, Throwable cause) {
        super(message, cause);
        this.library = library;
    }

    /** Returns the name ({@code libibverbs.so.1}) or the path of the library's file. */
    public String library() {
        return library;
    }

    /**
     * Makes the exception for a library that the dynamic linker could not find or load.
     *
     * @param library the file of the library, such as {@code librdmacm.so.1}
     * @param cause the error of the linker
     */
    public static LibraryUnavailableException notFound(String library, Throwable cause) {
        return new LibraryUnavailableException(
                library,
                "cannot load " + library + " (" + cause.getMessage() + "). " + installAdvice(library)
                        + Providers.adviceOnEmbedded(),
                cause);
    }

    /**
     * Makes the exception for a library that lacks a function.
     *
     * @param library the file of the library
     * @param function the C function, such as {@code _ibv_query_gid_ex}
     * @param release the first release of rdma-core that has the function, such as 32; 0 if every release has it
     */
    public static LibraryUnavailableException functionMissing(String library, String function, int release) {
        if (release == 0) {
            return new LibraryUnavailableException(
                    library,
                    function + " is in every release of that library, and " + library
                            + " lacks it: it is another library, or a broken one.");
        }
        return new LibraryUnavailableException(
                library,
                function + " needs rdma-core " + release + " or newer, and the " + library
                        + " of this machine lacks it. Upgrade that library" + versionCommands(library)
                        + ", or do without this call.");
    }

    /**
     * Makes the exception for a machine whose kernel has RDMA devices while libibverbs lists none. Then each device
     * lacks its provider library (the user-space driver) or its node in {@code /dev/infiniband}.
     *
     * @param kernelDevices the names of those devices, from {@code /sys/class/infiniband}
     */
    public static LibraryUnavailableException providerMissing(List<String> kernelDevices) {
        return new LibraryUnavailableException(
                "libibverbs.so.1",
                "libibverbs can drive none of the RDMA devices that the kernel has: " + String.join(", ", kernelDevices)
                        + ". Either their nodes are missing: " + DeviceNodes.describe()
                        + " Or the provider libraries are: install package ibverbs-providers (Debian, Ubuntu) or "
                        + "libibverbs (Fedora, RHEL), of the same rdma-core release as"
                        + " libibverbs, with a line for the driver in /etc/libibverbs.d.");
    }

    /**
     * Makes the exception for a Java virtual machine that denies kverbs native access.
     *
     * @param library the file of the library that kverbs needs
     * @param cause the exception by which the JVM denied the access
     */
    public static LibraryUnavailableException nativeAccessDenied(String library, IllegalCallerException cause) {
        Module module = LibraryUnavailableException.class.getModule();
        String name = module.isNamed() ? module.getName() : "ALL-UNNAMED";
        return new LibraryUnavailableException(
                library,
                "this Java process denies native access, which " + library + " needs (" + cause.getMessage()
                        + "). Start java with --enable-native-access=" + name
                        + ", or put `Enable-Native-Access: ALL-UNNAMED` into the manifest of a runnable jar.",
                cause);
    }

    /** Returns the commands that show a library's version; empty if the name of the file is not that of a library. */
    private static String versionCommands(String library) {
        return packages(library)
                .map(names -> " (`dpkg -l " + names.debian + "` or `rpm -q " + names.fedora + "` shows its version)")
                .orElse("");
    }

    private static String installAdvice(String library) {
        return packages(library)
                .map(names -> "Install package " + names.debian + " (Debian, Ubuntu) or " + names.fedora
                        + " (Fedora, RHEL); if it is in a folder of its own, name that in LD_LIBRARY_PATH.")
                .orElse("The file should be a shared library of rdma-core, for this processor.");
    }

    private record Packages(String debian, String fedora) {}

    /**
     * Returns the packages of a library: of libNAME.so.N, libNAMEN in Debian and libNAME in Fedora; the libraries of
     * drivers are together in one. Empty if the name of the file is not that of a library.
     */
    private static Optional<Packages> packages(String library) {
        String file = library.substring(library.lastIndexOf('/') + 1);
        if (file.startsWith("libmlx5.so.") || file.startsWith("libefa.so.")) {
            return Optional.of(new Packages("ibverbs-providers", "libibverbs"));
        }
        int suffix = file.indexOf(".so.");
        return suffix < 0
                ? Optional.empty()
                : Optional.of(
                        new Packages(file.substring(0, suffix) + file.substring(suffix + 4),
                                file.substring(0, suffix)));
    }
}
