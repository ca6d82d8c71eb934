import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { deferred } from '#apimachinery/async/deferred.js';
import { realClock } from '#apimachinery/clock.js';
import { Child, type ChildOptions } from '#cluster/process/child.js';
import { silentLogger } from '#daemon/log/logger.js';

/** Writes its argument. Exits when that is `first`, and keeps running otherwise. */
const program = `
  require('node:fs').appendFileSync(process.argv[1], process.argv[2] + '\\n');
  if (process.argv[2] === 'first') process.exit(1);
  setInterval(() => {}, 1000);
`;

t.test('each start gets new arguments', async (t) => {
  const dir = t.testdir();
  const output = join(dir, 'output');
  const words = ['first', 'second'];
  const child = new Child(options(dir, () => ['-e', program, output, words.shift() ?? 'none']));
  t.teardown(() => child.close());
  await child.start();
  while (!existsSync(output) || !readFileSync(output, 'utf8').includes('second')) await realClock.sleep(10);
  t.equal(readFileSync(output, 'utf8'), 'first\nsecond\n');
});

t.test('a child that is closed while its arguments are computed does not restart', async (t) => {
  const dir = t.testdir();
  const output = join(dir, 'output');
  const computing = deferred();
  const answer = deferred();
  let starts = 0;
  const child = new Child(
    options(dir, async () => {
      starts++;
      if (starts === 1) return ['-e', program, output, 'first'];
      computing.resolve();
      await answer.promise;
      return ['-e', program, output, 'second'];
    }),
  );
  await child.start();
  await computing.promise;
  const closed = child.close();
  answer.resolve();
  await closed;
  t.equal(readFileSync(output, 'utf8'), 'first\n');
  t.notOk(existsSync(join(dir, 'run', 'program.pid')), 'no identity file is left');
});

function options(dir: string, args: ChildOptions['args']): ChildOptions {
  return {
    name: 'program',
    command: process.execPath,
    args,
    runDir: join(dir, 'run'),
    logFile: join(dir, 'log'),
    clock: realClock,
    log: silentLogger,
  };
}
