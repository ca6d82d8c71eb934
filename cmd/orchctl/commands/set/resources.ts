/** `set resources`: requests and limits of containers. */
import { canonicalQuantity, isQuantity } from '#apimachinery/quantity.js';
import type { Command } from '#cmd/orchctl/commands/command.js';
import { changeTemplates, selectContainers, templateOptions } from '#cmd/orchctl/commands/set/pod-templates.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

export const resources: Command = {
  name: 'resources',
  usage: '(TYPE NAME | TYPE/NAME | -f FILE) [--limits TYPE=AMOUNT,…] [--requests TYPE=AMOUNT,…]',
  summary: 'Set requests and limits of containers',
  examples: ['orchctl set resources deployment web --limits=cpu=200m,memory=512Mi --requests=cpu=100m,memory=256Mi'],
  completes: 'objects',
  options: {
    ...templateOptions,
    containers: {
      type: 'string',
      shorthand: 'c',
      default: '*',
      section: 'Selection',
      meaning: 'Containers to change; may have *.',
    },
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
        const chosen = [
          ...selectContainers(spec.containers, pattern),
          ...selectContainers(spec.initContainers, pattern),
        ];
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
  if (text === '') return undefined;
  return Object.fromEntries(
    text.split(',').map((part) => {
      const [name, amount, more] = part.split('=');
      if (name === undefined || amount === undefined || more !== undefined) {
        throw new CommandError(`invalid argument syntax ${part}, expected <resource>=<value>`);
      }
      if (!isQuantity(amount)) {
        throw new CommandError(
          "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        );
      }
      return [name, canonicalQuantity(amount)];
    }),
  );
}
