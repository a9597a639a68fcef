package org.kverbs;

import org.kverbs.attributes.AccessFlag;

/**
 * The rules between access flags. A device that finds one broken answers a bare EINVAL, so this class checks them
 * before.
 */
final class AccessFlags {

    private AccessFlags() {}

    /**
     * Refuses REMOTE_WRITE or REMOTE_ATOMIC without LOCAL_WRITE ({@code man 3 ibv_reg_mr}).
     *
     * @throws IllegalArgumentException if LOCAL_WRITE is missing; the message names both flags
     */
    static void requireConsistent(int mask) {
        int remoteWrite = AccessFlag.REMOTE_WRITE.bit() | AccessFlag.REMOTE_ATOMIC.bit();
        if ((mask & remoteWrite) != 0 && (mask & AccessFlag.LOCAL_WRITE.bit()) == 0) {
            AccessFlag asked = (mask & AccessFlag.REMOTE_WRITE.bit()) != 0
                    ? AccessFlag.REMOTE_WRITE : AccessFlag.REMOTE_ATOMIC;
            throw new IllegalArgumentException(
                    asked + " needs LOCAL_WRITE too: add it. Peers can write only where this side can write");
        }
    }
}
