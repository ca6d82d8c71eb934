/** Empties nodes, so that they can be taken out or worked on. */
import { DrainRefusedError, evictPods, setUnschedulable } from '#client/drain/drain.js';
import type { Command } from '#cmd/orchctl/commands/command.js';
import { nodeNames } from '#cmd/orchctl/commands/cordon.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

export const drain: Command = {
  name: 'drain',
  usage: 'NODE…',
  summary: 'Let nodes take no more pods, and evict those that they have',
  examples: ['orchctl drain node-1 --ignore-daemonsets --delete-emptydir-data', 'orchctl uncordon node-1'],
  options: {
    'ignore-daemonsets': {
      type: 'bool',
      section: 'Pods',
      meaning: 'Leave the pods of daemon sets, which would come back at once.',
    },
    'delete-emptydir-data': {
      type: 'bool',
      section: 'Pods',
      meaning: 'Evict pods with emptyDir volumes, whose content is lost.',
    },
    force: { type: 'bool', section: 'Pods', meaning: 'Evict pods that no controller makes again.' },
    'grace-period': {
      type: 'int',
      default: -1,
      section: 'Pods',
      meaning: 'Seconds that pods have to end; negative: what each says itself.',
    },
    timeout: { type: 'duration', section: 'Waiting', meaning: 'Give up after this long; 0 waits for ever.' },
  },
  async run({ api, args, clock, err, out, signal, values }) {
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
