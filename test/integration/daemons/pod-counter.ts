import { nodes, pods } from '#api/core/v1/resources.gen.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import { WorkQueue } from '#client/workqueue/queue.js';
import { runWorkers } from '#client/workqueue/workers.js';
import { createControlLoop, type LoopDependencies } from '#control-loop/control-loop.js';
import { LeaderLoop } from '#control-loop/leader-loop.js';
import { type ControlLoopOptionTable, controlLoopOptions, controlLoopRules } from '#control-loop/options.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import { type Program, type ProgramContext, run } from '#daemon/run.js';

const name = 'pod-counter';
type Context = ProgramContext<ControlLoopOptionTable>;

const podCounter: Program<ControlLoopOptionTable> = {
  name: () => name,
  description: 'Writes on each node how many pods it has.',
  options: (dialect) => controlLoopOptions(dialect, { name, securePort: 10_299 }),
  rules: controlLoopRules,
  create(context) {
    const metrics = createRegistry({ dialect: context.dialect, process });
    return createControlLoop({
      context,
      name,
      eventSource: name,
      metrics,
      create: ({ client, leadership }) => ({
        loop: new LeaderLoop({ name, leadership, run: (signal, synced) => count(context, client, signal, synced) }),
      }),
    });
  },
};

async function count(context: Context, client: LoopDependencies['client'], signal: AbortSignal, synced: () => void) {
  const { clock, log } = context;
  const informers = new SharedInformerFactory({ ...context, client });
  const allNodes = informers.informer(nodes);
  const allPods = informers.informer(pods, { indexers: { node: ({ spec }) => [spec.nodeName ?? ''] } });
  const queue = new WorkQueue({ clock });
  allNodes.addHandler({ onAdd: ({ metadata }) => queue.add(metadata.name ?? '') });
  allPods.addHandler({
    onAdd: ({ spec }) => queue.add(spec.nodeName ?? ''),
    onUpdate: ({ spec }) => queue.add(spec.nodeName ?? ''),
    onDelete: ({ spec }) => queue.add(spec.nodeName ?? ''),
  });
  const informing = informers.start(signal);
  await informers.waitForSync(signal);
  synced();
  const reconcile = async (key: string) => {
    const annotations = { 'example.com/pods': String(allPods.byIndex('node', key).length) };
    const node = allNodes.get(key);
    if (node === undefined || node.metadata.annotations?.['example.com/pods'] === annotations['example.com/pods'])
      return;
    await client.resource(nodes).patch(key, { metadata: { annotations } }, { type: 'merge' });
  };
  await runWorkers({ queue, concurrency: 2, log, reconcile }, signal);
  await informing;
}

process.exitCode = await run(podCounter, process);
