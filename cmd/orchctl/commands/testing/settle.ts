/** Waits until a test cluster has nothing left to do. */
import type { Command } from '#cmd/orchctl/commands/command.js';
import { type Settled, shownUnfinished } from '#cmd/orchctl/commands/testing/cluster.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';

/** The server waits this long at most in one request. */
const requestMs = 20_000;

export const settle: Command = {
  name: 'settle',
  usage: '',
  summary: 'Wait until a test cluster has nothing left to do at this time',
  examples: ['orchctl settle', 'orchctl settle --timeout 5s'],
  options: {
    timeout: { type: 'duration', default: 30_000, section: 'Waiting', meaning: 'Fail after this long.' },
  },
  async run({ api, args, values }) {
    if (args.length > 0) throw new UsageError('settle takes no arguments');
    for (let leftMs = values.number('timeout'); ; leftMs -= requestMs) {
      const timeout = `${Math.min(leftMs, requestMs)}ms`;
      const { settled, unfinished } = await api.json<Settled>('POST', '/test/settle', { timeout });
      if (settled) return 0;
      if (leftMs <= requestMs) throw new CommandError(`the cluster still has work:\n${shownUnfinished(unfinished)}`);
    }
  },
};
