import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import t from 'tap';
import { realClock as clock } from '#apimachinery/clock.js';
import { identify } from '#cluster/process/identity.js';

/** A process with a guard of the folder that it is given, and a command, whose id it prints. */
function keeper(hasId: boolean): string {
  return `
    import { spawn } from 'node:child_process';
    import { Guard } from '#testcluster/command/guard.js';
    const folder = process.argv[1];
    const guard = new Guard(folder);
    guard.expect();
    const env = { ...process.env, KUBECONFIG: folder + '/kubeconfig' };
    const child = spawn('sleep', ['600'], { stdio: 'ignore', env });
    if (${hasId}) guard.protect(child.pid);
    console.log(child.pid);
    setInterval(() => undefined, 1000);`;
}

for (const hasId of [true, false]) {
  const what = hasId ? 'whose id it has told' : 'that was just being started';
  t.test(`a killed process takes a command along ${what}`, async (t) => {
    const folder = join(t.testdir(), 'cluster');
    mkdirSync(folder);
    const child = spawn(process.execPath, ['--input-type=module', '-e', keeper(hasId), folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.teardown(() => child.kill('SIGKILL'));
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
    const command = Number(line);
    t.teardown(() => identify(command) === undefined || process.kill(command, 'SIGKILL'));
    t.ok(identify(command), 'the command runs');
    child.kill('SIGKILL');
    while (existsSync(folder) || identify(command) !== undefined) await clock.sleep(20);
    t.pass('neither command nor folder is left');
  });
}
