import t from 'tap';
import { parseProgram, runningProgram } from '#cluster/upgrade/running-program.js';

const detached = ['/usr/bin/node', '--enable-source-maps', '/opt/orch/main.js', 'serve', '{"dataDir":"/d"}'];

t.test('a command line is split into program, subcommand and arguments', async (t) => {
  t.same(parseProgram(detached, '0::/user.slice/session-1.scope\n'), {
    command: detached.slice(0, 3),
    subcommand: 'serve',
    args: ['{"dataDir":"/d"}'],
    unit: undefined,
  });
  t.match(parseProgram(['node', 'main.js', 'up', '--v', '2'], '0::/system.slice/orch.service\n'), {
    command: ['node', 'main.js'],
    subcommand: 'up',
    args: ['--v', '2'],
    unit: 'orch.service',
  });
  t.match(parseProgram(['node', 'main.js', 'join'], '1:name=systemd:/system.slice/a.service/sub\n'), {
    unit: 'a.service',
  });
});

t.test('command lines of other programs are refused', async (t) => {
  t.throws(() => parseProgram(['sleep', '10'], ''), /not started by orch/);
  t.throws(() => parseProgram([''], ''), /not started by orch/);
  t.throws(() => runningProgram(process.pid), /not started by orch/, 'the test itself');
});
