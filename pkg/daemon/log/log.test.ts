import t from 'tap';
import { createLogger } from '#daemon/log/logger.js';

function lines(format: 'text' | 'json', verbosity = 0) {
  const written: string[] = [];
  const log = createLogger({
    name: 'tester',
    format,
    verbosity,
    pid: 42,
    now: () => 1_651_536_000_123,
    write: (line) => written.push(line),
  });
  return { log, written };
}

t.test('text lines look like those of release 1.24', async (t) => {
  const { log, written } = lines('text');
  log.info({ pod: { namespace: 'a', name: 'b' }, count: 3, list: ['x'], text: 'say "hi"\nnow' }, 'Something happened');
  log.child({ controller: 'c' }).warn({ err: new Error('broken') }, 'Trouble');
  log.error('Bad');
  log.debug('hidden');
  t.same(written, [
    'I0503 00:00:00.123000      42 tester] "Something happened" pod="a/b" count=3 list=["x"] text="say \\"hi\\"\\nnow"\n',
    'W0503 00:00:00.123000      42 tester] "Trouble" err="broken" controller="c"\n',
    'E0503 00:00:00.123000      42 tester] "Bad"\n',
  ]);
});

t.test('verbosity selects lines', async (t) => {
  const { log, written } = lines('text', 4);
  log.debug({ err: new Error('broken') }, 'shown');
  log.trace('hidden');
  t.equal(written.length, 1);
  t.match(written[0], /err="broken"\nError: broken\n +at /);
});

t.test('JSON lines contain all fields', async (t) => {
  const { log, written } = lines('json');
  log.info({ err: new Error('broken') }, 'Something');
  t.match(JSON.parse(written[0] ?? ''), {
    level: 'info',
    ts: 1_651_536_000_123,
    name: 'tester',
    pid: 42,
    msg: 'Something',
    err: { message: 'broken' },
  });
});
