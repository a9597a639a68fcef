package org.kverbs.embedded;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kverbs.WorkCompletionOpcode;
import org.kverbs.embedded.internal.objects.DeviceState;
import org.kverbs.embedded.internal.objects.Failures;
import org.kverbs.internal.Refusal;

/** Keeps the failures that were injected into a fabric. Called with the engine's lock held. */
final class InjectedFailures implements Failures {

    /** @param device the device that fails; null for all devices */
    private record Target(@Nullable DeviceState device, Injection injection) {

        boolean isFor(DeviceState other) {
            return device == null || device == other;
        }
    }

    private final List<Target> targets = new ArrayList<>();

    void add(@Nullable DeviceState device, Injection injection) {
        targets.removeIf(each -> each.injection.isOver());
        targets.add(new Target(device, injection));
    }

    @Override
    public int refuse(DeviceState device, Operation operation) {
        int result = 0;
        for (int i = 0; i < targets.size(); i++) {
            Injection each = targets.get(i).injection;
            if (targets.get(i).isFor(device) && each.failure().operation() == operation && each.hits()) {
                int errno = each.failure().code();
                String reason = "A test injected it: " + each.failure() + ".";
                result = isQuiet(operation) ? -errno : Refusal.because(errno, reason);
            }
        }
        return result;
    }

    /**
     * Tells whether a program may repeat the call without an exception. Such a call keeps no reason, which the next
     * exception would otherwise show.
     */
    private static boolean isQuiet(Operation operation) {
        return switch (operation) {
            case POLL, REQUEST_NOTIFICATION -> true;
            default -> false;
        };
    }

    @Override
    public int status(DeviceState device, int opcode) {
        int result = 0;
        for (int i = 0; i < targets.size(); i++) {
            Injection each = targets.get(i).injection;
            WorkCompletionOpcode wanted = each.failure().opcode();
            if (targets.get(i).isFor(device) && wanted != null && wanted.code() == opcode && each.hits()) {
                result = each.failure().code();
            }
        }
        return result;
    }
}
