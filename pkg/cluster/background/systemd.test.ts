import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { serviceUnit } from '#cluster/background/systemd.js';

const unit = (command: string[]) => serviceUnit({ description: 'a node', command, path: '/usr/sbin:/usr/bin' });

t.test('words are escaped for systemd', (t) => {
  const text = unit(['/bin/echo', '--a=b', 'with space', '50%', '$HOME', 'say "x"', 'back\\slash']);
  t.match(text, 'ExecStart=/bin/echo --a=b "with space" 50%% "$$HOME" "say \\"x\\"" "back\\\\slash"\n');
  t.match(text, 'Environment=PATH=/usr/sbin:/usr/bin\n');
  t.end();
});

t.test('the folder of a library of Node.js is in the environment of the unit', (t) => {
  const text = serviceUnit({
    description: 'a node',
    command: ['/a'],
    path: '/bin',
    libraryPath: '/opt/orch/.tools/lib',
  });
  t.match(text, 'Environment=PATH=/bin\nEnvironment=LD_LIBRARY_PATH=/opt/orch/.tools/lib\n', 'with a folder');
  t.notMatch(unit(['/a']), 'LD_LIBRARY_PATH', 'without one');
  t.end();
});

t.test('systemd accepts the unit', { skip: whyNoSystemd() ?? false }, (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'unit-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'orch.service');
  writeFileSync(file, unit(['/bin/echo', 'a b', '100%']));
  const output = execFileSync('systemd-analyze', ['verify', '--man=no', file], { stdio: 'pipe' }).toString();
  t.equal(output, '');
  t.end();
});

function whyNoSystemd(): string | undefined {
  try {
    execFileSync('systemd-analyze', ['--version'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'no systemd-analyze on the PATH';
  }
}
