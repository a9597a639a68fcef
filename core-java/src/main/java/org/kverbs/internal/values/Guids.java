package org.kverbs.internal.values;

/** GUIDs as text. */
public final class Guids {

    private Guids() {}

    /** Four groups of four hexadecimal digits, as ibv_devinfo prints them: {@code b4ef:93ff:fe74:597e}. */
    public static String format(long guid) {
        String digits = "%016x".formatted(guid);
        return String.join(
                ":", digits.substring(0, 4), digits.substring(4, 8), digits.substring(8, 12), digits.substring(12));
    }
}
