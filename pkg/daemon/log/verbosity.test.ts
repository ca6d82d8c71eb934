import t from 'tap';
import { LineBuffer } from '#daemon/log/log-output.js';
import { createLogger } from '#daemon/log/logger.js';
import { Verbosity } from '#daemon/log/verbosity.js';

const [trace, debug, info, warn] = [10, 20, 30, 40] as const;

t.test('the level selects lines by their severity', async (t) => {
  const rows: [level: number, shown: number[], hidden: number[]][] = [
    [0, [info, warn], [debug, trace]],
    [3, [info], [debug]],
    [4, [debug], [trace]],
    [6, [trace], []],
    [-1, [info], [debug]],
  ];
  for (const [level, shown, hidden] of rows) {
    const verbosity = new Verbosity({ level });
    for (const each of shown) t.ok(verbosity.enabled(each), `${level}: ${each}`);
    for (const each of hidden) t.notOk(verbosity.enabled(each), `${level}: ${each}`);
  }
});

t.test('levels of single files override the default', async (t) => {
  const rows: [pattern: string, file: string, shown: boolean][] = [
    ['queue=4', '/a/b/queue.js', true],
    ['queue.ts=4', '/a/b/queue.js', true],
    ['queue=3', '/a/b/queue.js', false],
    ['queue=4', '/a/b/queues.js', false],
    ['q*=4', '/a/b/queue.js', true],
    ['qu?ue=4', '/a/b/queue.js', true],
    ['b/queue=4', '/a/b/queue.js', true],
    ['b/*=4', '/a/b/queue.js', true],
    ['c/*=4', '/a/b/queue.js', false],
    ['a.b=4', '/a/b/axb.js', false],
  ];
  for (const [pattern, file, shown] of rows) {
    const verbosity = new Verbosity({ level: 0, modules: [pattern], caller: () => file });
    t.equal(verbosity.enabled(debug), shown, `${pattern} ${file}`);
  }
  const nowhere = new Verbosity({ level: 0, modules: ['*=9'], caller: () => undefined });
  t.notOk(nowhere.enabled(debug));
});

t.test('a running logger and its children follow changes', async (t) => {
  const written: string[] = [];
  const make = (verbosity: Verbosity) =>
    createLogger({ name: 'x', format: 'text', verbosity, pid: 1, now: () => 0, write: (line) => written.push(line) });
  const verbosity = new Verbosity({ level: 0 });
  const child = make(verbosity).child({ a: 1 });
  child.debug('one');
  verbosity.level = 4;
  child.debug('two');
  t.match(written, [/"two" a=1/]);
  t.equal(written.length, 1);
  make(new Verbosity({ level: 0, modules: ['verbosity.test=4'] }))
    .child({})
    .debug('three');
  make(new Verbosity({ level: 0, modules: ['other=4'] })).debug('four');
  t.match(written[1], /"three"/);
  t.equal(written.length, 2);
});

t.test('lines are buffered, but not for long', async (t) => {
  const written: string[] = [];
  let due: (() => void) | undefined;
  const clock = {
    now: () => 0,
    monotonic: () => 0,
    sleep: () => Promise.resolve(),
    setTimer(callback: () => void) {
      due = callback;
      return {
        cancel: () => {
          due = undefined;
        },
      };
    },
  };
  const buffer = new LineBuffer({ clock, flushMs: 1000, write: (lines) => written.push(lines), limit: 10 });
  buffer.add('a\n', false);
  buffer.add('b\n', false);
  t.same(written, []);
  due?.();
  t.same(written, ['a\nb\n']);
  buffer.add('c\n', false);
  buffer.add('d\n', true);
  t.same(written[1], 'c\nd\n', 'an error flushes the buffered lines');
  t.equal(due, undefined);
  buffer.add('0123456789\n', false);
  t.equal(written.length, 3, 'a full buffer is flushed, too');
  buffer.add('e\n', false);
  buffer.flush();
  buffer.flush();
  t.same(written.slice(3), ['e\n']);
});
