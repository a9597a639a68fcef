package org.kverbs.embedded.internal.verbs;

import org.kverbs.embedded.internal.objects.AsyncEvents;
import org.kverbs.embedded.internal.objects.Handles;
import org.kverbs.embedded.internal.objects.OpenXrcDomain;
import org.kverbs.embedded.internal.objects.Structures;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.embedded.internal.transport.WqTable;

/** The objects of an open context, by kind, and the order in which they are made and closed. */
final class ContextObjects {

    private final Hca hca;
    private final Structures structures = new Structures();
    final Domains domains;
    final AsyncEvents events;
    final MemoryVerbs memory;
    final EmbeddedOptionalMemory optionalMemory;
    final AddressVerbs addresses;
    final CompletionVerbs completions;
    final SharedReceiveVerbs shared;
    final QueuePairVerbs queuePairs;
    final EmbeddedXrc xrc;
    private final SteeringVerbs steering;
    final LockedSteering lockedSteering;
    final EmbeddedFlowActions flowActions;
    final EmbeddedWorkQueues workQueues;
    final EmbeddedCompletionCounters completionCounters;
    final EmbeddedImports imports;

    ContextObjects(Hca hca, CommandFile file) {
        this.hca = hca;
        this.domains = new Domains(hca, structures);
        this.events = new AsyncEvents(hca.engine);
        this.memory = new MemoryVerbs(hca, structures, domains);
        this.optionalMemory = new EmbeddedOptionalMemory(hca, structures, domains, memory);
        this.addresses = new AddressVerbs(hca, structures, domains);
        this.completions = new CompletionVerbs(hca, structures, domains, events);
        this.shared = new SharedReceiveVerbs(hca, structures, domains, events);
        Handles<OpenXrcDomain> xrcDomains = EmbeddedXrc.table(structures);
        Handles<WqTable> tables = EmbeddedWorkQueues.table(hca, structures);
        this.workQueues = new EmbeddedWorkQueues(hca, structures, events, domains, completions, tables);
        this.queuePairs = new QueuePairVerbs(
                hca, structures, events, domains, completions, shared, xrcDomains, tables, memory, addresses);
        this.xrc = new EmbeddedXrc(hca, completions, shared, queuePairs, xrcDomains);
        this.flowActions = new EmbeddedFlowActions(hca, structures);
        this.steering = new SteeringVerbs(hca, structures, queuePairs, flowActions);
        this.completionCounters = new EmbeddedCompletionCounters(hca, structures, queuePairs);
        this.lockedSteering = new LockedSteering(hca, steering);
        this.imports = new EmbeddedImports(
                hca, file, domains.table(), memory.regions(), optionalMemory.memories());
    }

    /** Opens the device for this context; called with the lock held. Returns 0 or -errno. */
    int open() {
        int result = hca.open(events);
        if (result < 0) {
            imports.close();
            structures.close();
        }
        return result;
    }

    /** Closes the device and destroys all objects; called with the lock held. Returns 0. */
    int close() {
        // As the kernel does: packets must not find objects that the program did not destroy.
        imports.close();
        steering.close();
        queuePairs.close();
        workQueues.close();
        shared.close();
        completions.close();
        xrc.close();
        memory.close();
        optionalMemory.close();
        hca.close(events);
        structures.close();
        return 0;
    }
}
