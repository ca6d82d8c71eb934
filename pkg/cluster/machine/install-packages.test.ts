import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { whyNoContainers } from '#cluster/machine/preflight.js';
import { systemdRuns } from '#nodeagent/node/prerequisites.js';

const program = fileURLToPath(import.meta.resolve('#cmd/orch/main.js'));
const path = process.env['PATH'] ?? '';
/** The machine must have all packages, so that only the one that the test hides is missing. */
const skip = whyNoContainers({ path, isRoot: process.getuid?.() === 0 }) ?? false;

/** A new Debian 12, where apt-get finds no package before an update. */
const aptGet = (folder: string) => `#!/bin/sh
echo "$@" >>'${folder}/calls'
case "$*" in
  update*) : >'${folder}/updated' ;;
  *) [ -e '${folder}/updated' ] || { echo 'E: Unable to locate package containerd' >&2; exit 100; }
    printf '#!/bin/sh\\n' >'${folder}/bin/containerd'; /bin/chmod +x '${folder}/bin/containerd' ;;
esac
`;

t.test('a missing package is installed', { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'apt-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const script = (name: string, text: string) => writeFileSync(join(bin, name), text, { mode: 0o755 });
  script('apt-get', aptGet(folder));
  script('systemctl', `#!/bin/sh\necho systemctl "$@" >>'${folder}/calls'\n`);
  const joins = (...more: string[]) =>
    new Promise<string>((resolve) => {
      const token = ['--token', 'abcdef.0123456789abcdef', '--ca-hash', `sha256:${'0'.repeat(64)}`];
      const args = [program, 'join', '127.0.0.1:1', ...token, '--data-dir', join(folder, 'data'), ...more];
      // The other programs are in the folders of the system.
      execFile(process.execPath, args, { env: { PATH: bin } }, (_error, stdout, stderr) => resolve(stdout + stderr));
    });
  t.match(
    await joins(),
    'missing packages: containerd; install them: apt-get install --no-install-recommends containerd',
  );
  const output = await joins('--install');
  t.match(output, /packages installed \(containerd\)/);
  t.match(output, 'cannot reach the API server', 'the join continues');
  const install = 'install --yes --quiet --no-install-recommends containerd';
  const calls = readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n');
  t.same(calls.slice(0, 3), [install, 'update --quiet', install]);
  t.same(calls.slice(3), (await systemdRuns()) ? ['systemctl disable --now containerd'] : []);
});
