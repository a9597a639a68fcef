package org.kverbs.internal.values;

/** Formats GUIDs. */
public final class Guids {

    private Guids() {}

    /** Returns four groups of four hexadecimal digits, as ibv_devinfo prints a GUID: {@code b4ef:93ff:fe74:597e}. */
    public static String format(long guid) {
        String digits = "%016x".formatted(guid);
        return String.join(
                ":", digits.substring(0, 4), digits.substring(4, 8), digits.substring(8, 12), digits.substring(12));
    }
}
