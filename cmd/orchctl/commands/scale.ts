import { objectPath } from '#cmd/orchctl/api/api.js';
import { objectName, parseTargets } from '#cmd/orchctl/api/resources.js';
import type { Command } from '#cmd/orchctl/commands/command.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';

interface Scale {
  spec?: { replicas?: number };
}

export const scale: Command = {
  name: 'scale',
  usage: '--replicas COUNT (TYPE NAME… | TYPE/NAME…)',
  summary: 'Set the number of replicas',
  examples: ['orchctl scale deployment/web --replicas 5'],
  options: {
    replicas: { type: 'int', default: -1, section: 'Scaling', meaning: 'The number of replicas.' },
    'current-replicas': {
      type: 'int',
      default: -1,
      section: 'Scaling',
      meaning: 'Scale only if the current number of replicas is this.',
    },
  },
  async run({ api, values, args, out, namespace }) {
    const replicas = values.number('replicas');
    if (replicas < 0) throw new UsageError('--replicas is required and must not be negative');
    const expected = values.number('current-replicas');
    for (const { resource, names } of parseTargets(await api.catalog(), args)) {
      if (names.length === 0) throw new UsageError('specify what to scale: TYPE/NAME');
      for (const name of names) {
        const path = objectPath(resource, name, { namespace }, 'scale');
        if (expected >= 0) {
          const before = await api.json<Scale>('GET', path);
          const actual = before.spec?.replicas ?? 0;
          if (actual !== expected) throw new CommandError(`expected replicas to be ${expected}, was ${actual}`);
        }
        await api.json('PATCH', path, { spec: { replicas } }, { 'content-type': 'application/merge-patch+json' });
        out.write(`${objectName(resource, name)} scaled\n`);
      }
    }
    return 0;
  },
};
