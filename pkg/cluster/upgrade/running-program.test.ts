import t from 'tap';
import { howItRuns, parseHowItRuns } from '#cluster/upgrade/running-program.js';

const detached = ['/usr/bin/node', '--enable-source-maps', '/opt/orch/main.js', 'serve', '{"dataDir":"/d"}'];

t.test('programs, subcommand and the rest', async (t) => {
  t.same(parseHowItRuns(detached, '0::/user.slice/session-1.scope\n'), {
    program: detached.slice(0, 3),
    subcommand: 'serve',
    args: ['{"dataDir":"/d"}'],
    unit: undefined,
  });
  t.match(parseHowItRuns(['node', 'main.js', 'up', '--v', '2'], '0::/system.slice/orch.service\n'), {
    program: ['node', 'main.js'],
    subcommand: 'up',
    args: ['--v', '2'],
    unit: 'orch.service',
  });
  t.match(parseHowItRuns(['node', 'main.js', 'join'], '1:name=systemd:/system.slice/a.service/sub\n'), {
    unit: 'a.service',
  });
});

t.test('what is no such program', async (t) => {
  t.throws(() => parseHowItRuns(['sleep', '10'], ''), /not started by orch/);
  t.throws(() => parseHowItRuns([''], ''), /not started by orch/);
  t.throws(() => howItRuns(process.pid), /not started by orch/, 'the test itself');
});
