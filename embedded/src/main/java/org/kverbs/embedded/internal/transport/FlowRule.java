package org.kverbs.embedded.internal.transport;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.objects.FlowCounts;
import org.kverbs.embedded.internal.wire.FrameHeaders;
import org.kverbs.embedded.internal.wire.HeaderLayer;

/**
 * A flow rule ({@code struct ibv_flow}): which frames go to a queue pair.
 *
 * @param type of {@code enum ibv_flow_attr_type}
 * @param priority rules with a lower number come first
 * @param passesOn whether frames that match also go on to rules of other priorities
 * @param matches what the rule asks of the headers
 * @param drops whether frames that match are dropped
 * @param counts counts the frames that match, or null
 * @param action decrypts the frames that match, or null
 */
public record FlowRule(
        Qp qp,
        int type,
        int priority,
        boolean passesOn,
        List<Match> matches,
        boolean drops,
        @Nullable FlowCounts counts,
        @Nullable EspAction action) {

    /** What a rule asks of one header: the bits of {@code mask} equal those of {@code value}. */
    public record Match(HeaderLayer layer, boolean isInner, byte[] value, byte[] mask) {}

    boolean takes(FrameHeaders headers) {
        for (int i = 0; i < matches.size(); i++) {
            Match match = matches.get(i);
            if (!headers.match(match.layer, match.isInner, match.value, match.mask)) {
                return false;
            }
        }
        return true;
    }
}
