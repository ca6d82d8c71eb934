import { spawnSync } from 'node:child_process';
import t from 'tap';
import { Domain } from './latest-domain.js';

const tap = import.meta.resolve('tap');

/** Runs a program that uses tap. */
function run(program: string) {
  const source = `import t from ${JSON.stringify(tap)};\n${program}`;
  return spawnSync(process.execPath, ['--input-type=module', '-e', source], { encoding: 'utf8' });
}

t.test('an uncaught error fails the running test', async (t) => {
  const programs = {
    'a rejection': `t.test('it', async () => { Promise.reject(new Error('lost')); await new Promise(setImmediate); });`,
    'an exception': `t.test('it', async () => { setImmediate(() => { throw new Error('lost'); }); await new Promise((r) => setTimeout(r, 50)); });`,
    'after its end': `t.test('it', async () => { setImmediate(() => { throw new Error('lost'); }); }); await new Promise((r) => setTimeout(r, 50));`,
    'outside of tests': `setImmediate(() => { throw new Error('lost'); }); await new Promise((r) => setTimeout(r, 50));`,
  };
  for (const [what, program] of Object.entries(programs)) {
    const { status, stdout } = run(program);
    t.not(status, 0, what);
    t.match(stdout, /not ok .*lost/, what);
  }
});

t.test('what a test listens for is its own', async (t) => {
  const { status, stdout } = run(
    `t.test('it', async (t) => {
       const heard = new Promise((r) => process.once('unhandledRejection', r));
       Promise.reject(new Error('wanted'));
       t.equal((await heard).message, 'wanted');
     });`,
  );
  t.equal(status, 0);
  t.match(stdout, /# \{ total: 1, pass: 1 \}/);
});

t.test('nothing is listened for when no test runs', async (t) => {
  const listening = () => process.listenerCount('uncaughtException') + process.listenerCount('unhandledRejection');
  const before = listening();
  const domains = [new Domain(() => undefined), new Domain(() => undefined)];
  t.equal(listening(), before + 2, 'for all of them together');
  for (const domain of domains) domain.destroy();
  domains[0]?.destroy();
  t.equal(listening(), before);
});
