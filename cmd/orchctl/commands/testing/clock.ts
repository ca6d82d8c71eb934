/** Shows and moves the clock of a cluster that was started for tests with `--clock manual`. */

import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { type Move, moveClock, shownUnfinished, type TestClock } from '#cmd/orchctl/commands/testing/cluster.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';

export const clock: Command = {
  name: 'clock',
  usage: '[advance DURATION | set TIME]',
  summary: "Show and move a test cluster's clock",
  examples: ['orchctl clock', 'orchctl clock advance 24h', 'orchctl clock set 2030-01-01T00:00:00Z'],
  options: {
    settle: {
      type: 'bool',
      default: true,
      section: 'Waiting',
      meaning:
        'Stop at each timer until the work that it starts is done. Without, the time passes as fast as timers fire.',
    },
    timeout: {
      type: 'duration',
      default: 20_000,
      section: 'Waiting',
      meaning: 'How long the cluster may take to come to rest at one time.',
    },
  },
  async run({ api, args, values, out }: Invocation) {
    const [action, value, ...more] = args;
    if (more.length > 0) throw new UsageError('clock takes an action and a value');
    if (action === undefined) {
      const { now, manual, next } = await api.json<TestClock>('GET', '/test/clock');
      out.write(`${now}${manual ? '' : ' (runs by itself)'}\n`);
      if (next !== undefined) out.write(`next timer: ${next}\n`);
      return 0;
    }
    if ((action !== 'advance' && action !== 'set') || value === undefined)
      throw new UsageError('use: clock, clock advance DURATION or clock set TIME');
    const move: Move = { [action]: value, settle: values.bool('settle'), timeout: `${values.number('timeout')}ms` };
    const { now, settled } = await moveClock(api, move);
    out.write(`${now}\n`);
    if (settled?.settled === false)
      throw new CommandError(`the cluster did not come to rest at ${now}:\n${shownUnfinished(settled.unfinished)}`);
    return 0;
  },
};
