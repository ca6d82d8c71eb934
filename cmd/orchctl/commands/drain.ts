/** Drains nodes for maintenance or removal. */
import { DrainRefusedError, evictPods, setUnschedulable } from '#client/drain/drain.js';
import type { Command } from '#cmd/orchctl/commands/command.js';
import { nodeNames } from '#cmd/orchctl/commands/cordon.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';

export const drain: Command = {
  name: 'drain',
  usage: 'NODE…',
  summary: 'Mark nodes as unschedulable and evict their pods',
  examples: ['orchctl drain node-1 --ignore-daemonsets --delete-emptydir-data', 'orchctl uncordon node-1'],
  completes: 'nodes',
  options: {
    'ignore-daemonsets': {
      type: 'bool',
      section: 'Pods',
      meaning: 'Keep pods of daemon sets, which would be recreated at once.',
    },
    'delete-emptydir-data': {
      type: 'bool',
      section: 'Pods',
      meaning: 'Evict pods even if they lose data in emptyDir volumes.',
    },
    force: { type: 'bool', section: 'Pods', meaning: 'Evict pods that no controller recreates.' },
    'grace-period': {
      type: 'int',
      default: -1,
      section: 'Pods',
      meaning: "Seconds for pods to terminate; negative: each pod's own value.",
    },
    timeout: { type: 'duration', section: 'Waiting', meaning: 'Stop waiting after this long; 0: no limit.' },
  },
  async run({ api, args, clock, err, out, signal, values }) {
    if (args.length === 0) throw new UsageError('USAGE: drain NODE [flags]');
    const names = nodeNames(args);
    const { dialect } = await api.catalog();
    const client = await api.client(dialect);
    const timeoutMs = values.number('timeout');
    const limit = timeoutMs > 0 ? AbortSignal.timeout(timeoutMs) : undefined;
    const grace = values.number('grace-period');
    for (const name of names) {
      const changed = await setUnschedulable(client, name, true);
      out.write(`node/${name} ${changed ? '' : 'already '}cordoned\n`);
    }
    for (const name of names) {
      try {
        await evictPods(client, name, {
          clock,
          signal: limit === undefined ? signal : AbortSignal.any([signal, limit]),
          ignoreDaemonSets: values.bool('ignore-daemonsets'),
          deleteEmptyDirData: values.bool('delete-emptydir-data'),
          force: values.bool('force'),
          gracePeriodSeconds: grace < 0 ? undefined : grace,
          tell: (line) => (line.startsWith('Warning') || line.startsWith('error') ? err : out).write(`${line}\n`),
        });
      } catch (error) {
        if (error instanceof DrainRefusedError)
          throw new CommandError(`unable to drain node "${name}": ${error.message}`, 1);
        if (limit?.aborted === true)
          throw new CommandError(`node "${name}" still had pods after ${timeoutMs / 1000} s`);
        throw error;
      }
      out.write(`node/${name} drained\n`);
    }
    return 0;
  },
};
