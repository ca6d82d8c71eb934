/** `set resources`: requests and limits of containers. */
import { parseAmounts } from '#cmd/orchctl/commands/amounts.js';
import type { Command } from '#cmd/orchctl/commands/command.js';
import {
  changeTemplates,
  containersLike,
  containersOption,
  templateOptions,
} from '#cmd/orchctl/commands/set/pod-templates.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

export const resources: Command = {
  name: 'resources',
  usage: '(TYPE NAME | TYPE/NAME | -f FILE) [--limits TYPE=AMOUNT,…] [--requests TYPE=AMOUNT,…]',
  summary: 'Set requests and limits of containers',
  examples: ['orchctl set resources deployment web --limits=cpu=200m,memory=512Mi --requests=cpu=100m,memory=256Mi'],
  completes: 'objects',
  options: {
    ...templateOptions,
    ...containersOption,
    limits: { type: 'string', section: 'Content', meaning: 'Limits, such as cpu=100m,memory=256Mi.' },
    requests: { type: 'string', section: 'Content', meaning: 'Requests, such as cpu=100m,memory=256Mi.' },
  },
  run(invocation) {
    const { args, values } = invocation;
    if (values.bool('all') && values.isSet('selector')) {
      throw new CommandError('cannot set --all and --selector at the same time');
    }
    const limits = amounts(values.string('limits') ?? '');
    const requests = amounts(values.string('requests') ?? '');
    if (limits === undefined && requests === undefined) {
      throw new CommandError('you must specify an update to requests or limits (in the form of --requests/--limits)');
    }
    const pattern = values.string('containers') ?? '*';
    return changeTemplates(invocation, {
      resources: args,
      verb: 'resource requirements updated',
      failure: 'failed to patch resources update to pod template ',
      change(spec) {
        const chosen = containersLike(spec, pattern);
        if (chosen.length === 0) throw new CommandError(`unable to find container named ${pattern}`);
        for (const container of chosen) {
          const present = container.resources ?? {};
          container.resources = {
            ...present,
            ...(limits === undefined ? {} : { limits: { ...present.limits, ...limits } }),
            ...(requests === undefined ? {} : { requests: { ...present.requests, ...requests } }),
          };
        }
      },
    });
  },
};

function amounts(text: string): Record<string, string> | undefined {
  const pairs = parseAmounts(text, 'invalid');
  return pairs && Object.fromEntries(pairs);
}
