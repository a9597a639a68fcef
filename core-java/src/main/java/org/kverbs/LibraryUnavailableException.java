package org.kverbs;

import java.io.Serial;
import java.util.List;
import java.util.Optional;
import org.kverbs.internal.DeviceNodes;
import org.kverbs.internal.Providers;

/**
 * A native library that is absent, too old or incomplete, or that this Java process must not call. The message says
 * what to install, or which flag to use.
 *
 * <p>kverbs loads libibverbs when a device is first asked for, never when its own classes are loaded.
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

    /** The file of the library, by name ({@code libibverbs.so.1}) or path. */
    public String library() {
        return library;
    }

    /**
     * The dynamic linker did not find the library, or could not load it.
     *
     * @param library its file, such as {@code librdmacm.so.1}
     * @param cause what the linker said
     */
    public static LibraryUnavailableException notFound(String library, Throwable cause) {
        return new LibraryUnavailableException(
                library,
                "cannot load " + library + " (" + cause.getMessage() + "). " + installAdvice(library)
                        + Providers.adviceOnEmbedded(),
                cause);
    }

    /**
     * The library is there, but lacks a function that was called.
     *
     * @param library its file
     * @param function the C function, such as {@code _ibv_query_gid_ex}
     * @param release the first release of rdma-core that has the function, such as 32; 0 for all
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
     * The kernel has RDMA devices, but libibverbs lists none: it lacks the provider library (its user-space driver) of
     * each, or the node in {@code /dev/infiniband}.
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
     * The Java virtual machine denies kverbs the use of native code.
     *
     * @param library the file that was to be loaded or called
     * @param cause the denial
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

    /** How to see a library's version; nothing for a file that is not named like a library. */
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
     * Debian names the package of libNAME.so.N libNAMEN, Fedora libNAME; nothing for a file that is not named like a
     * library.
     */
    private static Optional<Packages> packages(String library) {
        String file = library.substring(library.lastIndexOf('/') + 1);
        int suffix = file.indexOf(".so.");
        return suffix < 0
                ? Optional.empty()
                : Optional.of(
                        new Packages(file.substring(0, suffix) + file.substring(suffix + 4),
                                file.substring(0, suffix)));
    }
}
