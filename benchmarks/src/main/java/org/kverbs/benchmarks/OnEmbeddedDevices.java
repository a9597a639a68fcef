package org.kverbs.benchmarks;

import java.util.List;
import org.kverbs.CompletionQueue;
import org.kverbs.Context;
import org.kverbs.Device;
import org.kverbs.MemoryRegion;
import org.kverbs.ProtectionDomain;
import org.kverbs.QueuePair;
import org.kverbs.QueuePairInitAttributes;
import org.kverbs.WorkCompletions;
import org.kverbs.attributes.AccessFlag;
import org.kverbs.attributes.QueuePairCapabilities;
import org.kverbs.attributes.QueuePairType;
import org.kverbs.embedded.EmbeddedFabric;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.TearDown;

/** Connects two embedded devices of this JVM by two reliable queue pairs. */
public abstract class OnEmbeddedDevices extends Measured {

    private static final int QUEUE = 64;

    final End near = new End();
    final End far = new End();
    private EmbeddedFabric fabric;

    /** One end of the connection, for one thread. */
    static final class End {
        Context context;
        QueuePair qp;
        MemoryRegion memory;
        private final WorkCompletions completions = new WorkCompletions(QUEUE);

        private void open(Device device, int bytes) {
            context = device.open();
            ProtectionDomain pd = context.protectionDomain();
            var capabilities = new QueuePairCapabilities(QUEUE, QUEUE, 1, 1, 0);
            qp = pd.queuePair(new QueuePairInitAttributes(
                    QueuePairType.RC, context.completionQueue(QUEUE), context.completionQueue(QUEUE), null,
                    capabilities, false));
            memory = pd.memoryRegion(bytes, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
        }

        /** Polls until this number of sends is done. */
        void awaitSends(int count) {
            poll(qp.sendCq(), count);
        }

        /** Polls until this number of messages has come. */
        void awaitReceives(int count) {
            poll(qp.recvCq(), count);
        }

        private void poll(CompletionQueue queue, int count) {
            for (int left = count; left > 0; ) {
                int found = queue.poll(completions);
                for (int i = 0; i < found; i++) {
                    completions.get(i).orThrow();
                }
                left -= found;
            }
        }
    }

    /** Returns the bytes of memory that each end needs. */
    abstract int bytes();

    /** Prepares the benchmark on the two connected ends. */
    abstract void prepare();

    /** Returns the fabric of the devices, which {@link #close} closes. */
    EmbeddedFabric fabric() {
        return EmbeddedFabric.realTime(1);
    }

    /** Returns the two devices. */
    List<Device> devices() {
        return List.of(fabric.addDevice(), fabric.addDevice());
    }

    /** Ends the work that {@link #prepare} began. */
    void stop() throws InterruptedException {}

    /** Opens both devices and connects them. */
    @Setup
    public void open() {
        fabric = fabric();
        List<Device> devices = devices();
        near.open(devices.getFirst(), bytes());
        far.open(devices.getLast(), bytes());
        near.qp.connect(far.qp.endpoint());
        far.qp.connect(near.qp.endpoint());
        prepare();
    }

    /** Closes both devices. */
    @TearDown
    public void close() throws InterruptedException {
        stop();
        near.context.close();
        far.context.close();
        fabric.close();
    }
}
