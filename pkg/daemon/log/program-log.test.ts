import t from 'tap';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { programLog } from '#daemon/log/program-log.js';

/** The log of a program, and the streams it writes to. */
function logOf(values: Readonly<Record<string, unknown>>, given: readonly string[] = []) {
  const written = { stdout: '', stderr: '' };
  const sink = (name: 'stdout' | 'stderr') => ({
    write(text: string) {
      written[name] += text;
    },
  });
  const clock = new VirtualClock();
  const streams = { pid: 7, stdout: sink('stdout'), stderr: sink('stderr') };
  return { written, clock, ...programLog('p', { values, given: new Set(given) }, streams, clock) };
}

const lines = (text: string) => text.split('\n').filter((line) => line !== '');
const json = { 'logging-format': 'json' };
const split = { ...json, 'log-json-split-stream': true };

t.test('all lines go to standard error', async (t) => {
  for (const values of [{}, json, { 'log-json-split-stream': true }]) {
    const { log, written } = logOf(values);
    log.info('a');
    log.error('b');
    t.equal(lines(written.stderr).length, 2, JSON.stringify(values));
    t.equal(written.stdout, '', JSON.stringify(values));
  }
});

t.test('the format is that of the options', async (t) => {
  const text = logOf({ 'logging-format': 'text' });
  text.log.info('a');
  t.match(text.written.stderr, /^I0503 .* p\] "a"\n$/, 'text');
  const { log, written } = logOf(json);
  log.info('a');
  t.match(JSON.parse(written.stderr), { msg: 'a', pid: 7 }, 'json');
});

t.test('split JSON streams have errors on standard error and the rest on standard output', async (t) => {
  const { log, written } = logOf(split);
  log.info('a');
  log.warn('b');
  log.error('c');
  t.same(
    lines(written.stdout).map((line) => JSON.parse(line).msg),
    ['a', 'b'],
    'standard output',
  );
  t.same(
    lines(written.stderr).map((line) => JSON.parse(line).msg),
    ['c'],
    'standard error',
  );
});

t.test('standard output is buffered up to its size and for thirty seconds; errors are not', async (t) => {
  const { log, written, clock, flush } = logOf({ ...split, 'log-json-info-buffer-size': '2Ki' });
  log.info('a');
  log.error('b');
  t.equal(written.stdout, '', 'a line waits');
  t.equal(lines(written.stderr).length, 1, 'an error does not');
  await clock.advance(30_000);
  t.equal(lines(written.stdout).length, 1, 'after thirty seconds');
  for (let i = 0; i < 5; i++) log.info({ text: 'x'.repeat(500) }, 'large');
  t.ok(lines(written.stdout).length > 1, 'when it is full');
  log.info('last');
  flush();
  t.match(written.stdout, /last/, 'at the end');
});

t.test('lines wait for the flush frequency if it is set, on the command line or in a file', async (t) => {
  const standard = { 'log-flush-frequency': 5000 };
  for (const [values, given, waits] of [
    [standard, [], false],
    [standard, ['log-flush-frequency'], true],
    [{ 'log-flush-frequency': 7000 }, [], true],
    [{ 'log-flush-frequency': 0 }, ['log-flush-frequency'], false],
  ] as const) {
    const { log, written, clock } = logOf(values, given);
    log.info('a');
    t.equal(written.stderr === '', waits, `${JSON.stringify(values)} ${given.join()}`);
    await clock.advance(7000);
    t.equal(lines(written.stderr).length, 1, 'written');
  }
});

t.test('verbosity is that of the options, and may change', async (t) => {
  const { log, written, verbosity } = logOf({ v: 4 });
  log.debug('a');
  verbosity.level = 0;
  log.debug('b');
  t.equal(lines(written.stderr).length, 1, 'by level');
  const modules = logOf({ vmodule: ['program-log.test=4'] });
  modules.log.debug('c');
  t.equal(lines(modules.written.stderr).length, 1, 'by file');
  const others = logOf({ vmodule: ['other=4'] });
  others.log.debug('d');
  t.equal(others.written.stderr, '', 'of another file');
});
