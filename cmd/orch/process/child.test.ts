import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { deferred } from '#apimachinery/async/deferred.js';
import { realClock } from '#apimachinery/clock.js';
import { Child, type ChildOptions } from '#cmd/orch/process/child.js';
import { silentLogger } from '#daemon/log/logger.js';

/** Writes its argument, ends when it is the first one, and goes on else. */
const program = `
  require('node:fs').appendFileSync(process.argv[1], process.argv[2] + '\\n');
  if (process.argv[2] === 'first') process.exit(1);
  setInterval(() => {}, 1000);
`;

t.test('a program is given what its arguments are by the time of each start', async (t) => {
  const dir = t.testdir();
  const seen = join(dir, 'seen');
  const given = ['first', 'second'];
  const child = new Child(options(dir, () => ['-e', program, seen, given.shift() ?? 'none']));
  t.teardown(() => child.close());
  await child.start();
  while (!existsSync(seen) || !readFileSync(seen, 'utf8').includes('second')) await realClock.sleep(10);
  t.equal(readFileSync(seen, 'utf8'), 'first\nsecond\n');
});

t.test('one that is closed while its arguments are looked for is not started again', async (t) => {
  const dir = t.testdir();
  const seen = join(dir, 'seen');
  const asked = deferred();
  const answer = deferred();
  let starts = 0;
  const child = new Child(
    options(dir, async () => {
      starts++;
      if (starts === 1) return ['-e', program, seen, 'first'];
      asked.resolve();
      await answer.promise;
      return ['-e', program, seen, 'second'];
    }),
  );
  await child.start();
  await asked.promise;
  const closed = child.close();
  answer.resolve();
  await closed;
  t.equal(readFileSync(seen, 'utf8'), 'first\n');
  t.notOk(existsSync(join(dir, 'run', 'program.pid')), 'and leaves no identity');
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
