package org.kverbs.embedded.internal.verbs;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.Operation;
import org.kverbs.embedded.internal.objects.Handles;
import org.kverbs.embedded.internal.objects.OpenXrcDomain;
import org.kverbs.embedded.internal.objects.Quota;
import org.kverbs.embedded.internal.objects.Structures;
import org.kverbs.embedded.internal.objects.XrcDomain;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvQpOpenAttr;
import org.kverbs.internal.abi.IbvQpOpenAttrMask;
import org.kverbs.internal.abi.IbvQpType;
import org.kverbs.internal.abi.IbvSrqInitAttrEx;
import org.kverbs.internal.abi.IbvSrqInitAttrMask;
import org.kverbs.internal.abi.IbvSrqType;
import org.kverbs.internal.abi.IbvXrcd;
import org.kverbs.internal.abi.OpenFlags;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.XrcVerbs;

/**
 * Makes and finds the XRC domains of an open context, and makes what belongs to a domain. Each call takes the engine's
 * lock. A file names a domain for all contexts of the device, that is within this process.
 */
final class EmbeddedXrc implements XrcVerbs {

    private static final int QUEUE = IbvSrqInitAttrMask.IBV_SRQ_INIT_ATTR_TYPE
            | IbvSrqInitAttrMask.IBV_SRQ_INIT_ATTR_PD
            | IbvSrqInitAttrMask.IBV_SRQ_INIT_ATTR_XRCD
            | IbvSrqInitAttrMask.IBV_SRQ_INIT_ATTR_CQ;
    private static final int TAGGED_QUEUE = IbvSrqInitAttrMask.IBV_SRQ_INIT_ATTR_TYPE
            | IbvSrqInitAttrMask.IBV_SRQ_INIT_ATTR_PD
            | IbvSrqInitAttrMask.IBV_SRQ_INIT_ATTR_CQ
            | IbvSrqInitAttrMask.IBV_SRQ_INIT_ATTR_TM;
    private static final int QUEUE_PAIR = IbvQpOpenAttrMask.IBV_QP_OPEN_ATTR_NUM
            | IbvQpOpenAttrMask.IBV_QP_OPEN_ATTR_XRCD
            | IbvQpOpenAttrMask.IBV_QP_OPEN_ATTR_TYPE;

    private final Hca hca;
    private final DeviceCalls calls;
    private final CompletionVerbs completions;
    private final SharedReceiveVerbs shared;
    private final QueuePairVerbs queuePairs;
    private final Handles<OpenXrcDomain> domains;

    EmbeddedXrc(
            Hca hca,
            CompletionVerbs completions,
            SharedReceiveVerbs shared,
            QueuePairVerbs queuePairs,
            Handles<OpenXrcDomain> domains) {
        this.hca = hca;
        this.calls = new DeviceCalls(hca);
        this.completions = completions;
        this.shared = shared;
        this.queuePairs = queuePairs;
        this.domains = domains;
    }

    /** Makes the table of a context's domains. The handle stands behind the structure, which has no field for it. */
    static Handles<OpenXrcDomain> table(Structures structures) {
        return new Handles<>(structures, IbvXrcd.SIZE + Integer.BYTES, IbvXrcd.SIZE, Quota.none());
    }

    /** Leaves the domains; called with the lock held when the device is closed. */
    void close() {
        domains.forEach(this::leave);
    }

    private void leave(OpenXrcDomain opened) {
        XrcDomain domain = opened.domain;
        if (--domain.opened == 0 && domain.file != null) {
            hca.xrcDomains.remove(domain.file);
            domain.close();
        }
    }

    @Override
    public long openDomain(@Nullable Path file, int flags) {
        XrcDomain asked;
        try {
            asked = file == null ? new XrcDomain(null, null) : domain(file, (flags & OpenFlags.O_CREAT) != 0);
        } catch (IOException e) {
            return -errno(e);
        }
        try {
            return calls.make(Operation.OPEN_XRC_DOMAIN, () -> open(asked, flags));
        } finally {
            if (!asked.wasOpened) {
                asked.close();
            }
        }
    }

    /** Makes a domain of an open file. What identifies it is the same for all names of the file. */
    private static XrcDomain domain(Path file, boolean create) throws IOException {
        if (create && Files.notExists(file)) {
            try {
                Files.createFile(file);
            } catch (FileAlreadyExistsException e) {
                // another program made it in the meantime
            }
        }
        FileChannel open = FileChannel.open(file, StandardOpenOption.READ);
        try {
            Object inode = Files.readAttributes(file, BasicFileAttributes.class).fileKey();
            return new XrcDomain(inode == null ? file.toRealPath() : inode, open);
        } catch (IOException | RuntimeException | Error e) {
            open.close();
            throw e;
        }
    }

    private static int errno(IOException problem) {
        return switch (problem) {
            case NoSuchFileException missing -> Errno.ENOENT;
            case AccessDeniedException denied -> Errno.EACCES;
            default -> Errno.EIO;
        };
    }

    /** Opens the domain of a file, which is the one that was asked for if nobody has it open. */
    private long open(XrcDomain asked, int flags) {
        Object file = asked.file;
        XrcDomain there = file == null ? null : hca.xrcDomains.get(file);
        if (there != null && (flags & OpenFlags.O_EXCL) != 0) {
            return -Errno.EINVAL;
        }
        if (there == null && file != null && (flags & OpenFlags.O_CREAT) == 0) {
            return -Errno.EAGAIN;
        }
        XrcDomain domain = there == null ? asked : there;
        long structure = domains.add(at -> new OpenXrcDomain(domain));
        if (structure > 0) {
            domain.opened++;
            domain.wasOpened = true;
            if (file != null) {
                hca.xrcDomains.put(file, domain);
            }
        }
        return structure;
    }

    @Override
    public int closeDomain(long domain) {
        return calls.call(Operation.CLOSE_XRC_DOMAIN, () -> {
            OpenXrcDomain opened = domains.get(domain);
            if (opened == null || opened.users > 0) {
                return opened == null ? -Errno.EINVAL : -Errno.EBUSY;
            }
            leave(opened);
            domains.remove(domain);
            return 0;
        });
    }

    @Override
    public long createSharedReceiveQueue(MemorySegment init) {
        long at = init.address();
        return calls.make(Operation.CREATE_SHARED_RECEIVE_QUEUE, () -> {
            if (Memory.getInt(at + IbvSrqInitAttrEx.COMP_MASK) == TAGGED_QUEUE
                    && Memory.getInt(at + IbvSrqInitAttrEx.SRQ_TYPE) == IbvSrqType.IBV_SRQT_TM) {
                return shared.createTagged(
                        Memory.getLong(at + IbvSrqInitAttrEx.PD),
                        at,
                        completions.queue(Memory.getLong(at + IbvSrqInitAttrEx.CQ)));
            }
            if (Memory.getInt(at + IbvSrqInitAttrEx.COMP_MASK) != QUEUE
                    || Memory.getInt(at + IbvSrqInitAttrEx.SRQ_TYPE) != IbvSrqType.IBV_SRQT_XRC) {
                return -Errno.EOPNOTSUPP;
            }
            return shared.createXrc(
                    Memory.getLong(at + IbvSrqInitAttrEx.PD),
                    at,
                    domains.get(Memory.getLong(at + IbvSrqInitAttrEx.XRCD)),
                    completions.queue(Memory.getLong(at + IbvSrqInitAttrEx.CQ)));
        });
    }

    @Override
    public int sharedReceiveQueueNumber(long srq) {
        return calls.call(() -> shared.number(srq));
    }

    @Override
    public long openQueuePair(MemorySegment attributes) {
        long at = attributes.address();
        return calls.make(Operation.OPEN_QUEUE_PAIR, () -> {
            int mask = Memory.getInt(at + IbvQpOpenAttr.COMP_MASK) & ~IbvQpOpenAttrMask.IBV_QP_OPEN_ATTR_CONTEXT;
            if (mask != QUEUE_PAIR || Memory.getInt(at + IbvQpOpenAttr.QP_TYPE) != IbvQpType.IBV_QPT_XRC_RECV) {
                return -Errno.EINVAL;
            }
            return queuePairs.openXrcReceiver(
                    domains.get(Memory.getLong(at + IbvQpOpenAttr.XRCD)), Memory.getInt(at + IbvQpOpenAttr.QP_NUM));
        });
    }
}
