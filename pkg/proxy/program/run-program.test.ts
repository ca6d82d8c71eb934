import t from 'tap';
import { isProgramMissing, ProgramError, runWithInput } from '#proxy/program/run-program.js';

t.test('output and errors of a program', async (t) => {
  t.equal(await runWithInput('cat', [], 'text'), 'text');
  await t.rejects(runWithInput('sh', ['-c', 'echo no >&2; exit 3']), new ProgramError('sh ended with 3: no', 3));
});

t.test('a program that is missing delays nothing', async (t) => {
  const timers = () => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length;
  const before = timers();
  const error = await runWithInput('no-such-program', []).catch((reason: unknown) => reason);
  t.ok(isProgramMissing(error), String(error));
  t.equal(timers(), before, 'no timer keeps the process from ending');
});
