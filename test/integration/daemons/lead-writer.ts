/** A daemon that only writes while it leads: each object names the process and the term. */
import { configmaps } from '#api/core/v1/resources.gen.js';
import { createControlLoop } from '#control-loop/control-loop.js';
import { LeaderLoop } from '#control-loop/leader-loop.js';
import { type ControlLoopOptionTable, controlLoopOptions, controlLoopRules } from '#control-loop/options.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import { type Program, run } from '#daemon/run.js';

const name = 'lead-writer';
/** Writes under way at once. */
const width = 4;

const leadWriter: Program<ControlLoopOptionTable> = {
  name: () => name,
  description: 'Writes as long as it leads.',
  options: (dialect) => controlLoopOptions(dialect, { name, securePort: 10_298 }),
  rules: controlLoopRules,
  create: (context) =>
    createControlLoop({
      context,
      name,
      eventSource: name,
      metrics: createRegistry({ dialect: context.dialect, process }),
      create: ({ client, leadership }) => {
        let terms = 0;
        const maps = client.resource(configmaps);
        const work = async (term: string, signal: AbortSignal) => {
          const metadata = { generateName: 'w-', namespace: 'default' };
          // Refused writes are retried: only the fence stops the writer.
          while (!signal.aborted) {
            await maps.create({ metadata, data: { term } }).catch(() => undefined);
            await context.clock.sleep(5, signal);
          }
        };
        const lead = async (signal: AbortSignal, synced: () => void) => {
          synced();
          terms += 1;
          const term = `${process.pid} ${terms}`;
          await Promise.all(Array.from({ length: width }, () => work(term, signal)));
        };
        return { loop: new LeaderLoop({ name, leadership, run: lead }) };
      },
    }),
};

process.exitCode = await run(leadWriter, process);
