import { PassThrough, Writable } from 'node:stream';
import t, { type Test } from 'tap';
import { fileOutput, type LogOutput, streamOutput } from '#daemon/log/log-output.js';

function failure(code: string): Error {
  return Object.assign(new Error(code), { code, syscall: 'write' });
}

/** The reports of lost lines. */
function reports(output: LogOutput): number[] {
  const counts: number[] = [];
  output.lost.onResumed((missing) => counts.push(missing));
  return counts;
}

for (const code of ['ENOSPC', 'EIO', 'EROFS', 'EDQUOT'])
  t.test(`${code} drops and counts lines until the disk recovers`, (t) => dropsLines(t, code));

async function dropsLines(t: Test, code: string): Promise<void> {
  let disk = '';
  let room = 8;
  const output = fileOutput((bytes) => {
    if (room === 0) throw failure(code);
    const accepted = bytes.subarray(0, room);
    room -= accepted.length;
    disk += accepted.toString();
    return accepted.length;
  });
  const counts = reports(output);
  output.write('one\n');
  output.write('two and more\n');
  output.write('three\nfour\n');
  t.equal(disk, 'one\ntwo ');
  t.equal(output.lost.total, 3);
  t.same(counts, []);
  room = 1000;
  output.write('five\n');
  t.equal(disk, 'one\ntwo \nfive\n', 'a truncated line is ended before the next one');
  t.same(counts, [3]);
  output.write('six\n');
  t.same(counts, [3]);
  t.equal(output.lost.total, 3);
}

t.test('a device that accepts nothing is not retried for ever', async (t) => {
  const output = fileOutput(() => 0);
  output.write('one\n');
  t.equal(output.lost.total, 1);
});

t.test('a pipe without a reader drops lines', async (t) => {
  let broken = true;
  let written = '';
  const pipe = new Writable({
    autoDestroy: false,
    write(chunk, _encoding, done) {
      if (broken) return done(failure('EIO'));
      written += String(chunk);
      done();
    },
  });
  const output = streamOutput(pipe);
  const counts = reports(output);
  output.write('one\n');
  await new Promise(setImmediate);
  t.equal(output.lost.total, 1);
  broken = false;
  const healed = new PassThrough();
  const other = streamOutput(healed);
  other.lost.lose(Buffer.from('a\nb\n'));
  const otherReports = reports(other);
  other.write('two\n');
  await new Promise(setImmediate);
  t.equal(String(healed.read()), 'two\n');
  t.same(otherReports, [2]);
  t.same(counts, []);
  t.equal(written, '');
});

t.test('a reader that does not read costs bounded memory', async (t) => {
  const stuck = new Writable({ write: () => undefined });
  const output = streamOutput(stuck);
  const line = `${'x'.repeat(1023)}\n`;
  for (let i = 0; i < 5000; i++) output.write(line);
  t.ok(stuck.writableLength < 1024 * 1024 + 2 * line.length);
  t.ok(output.lost.total > 3900);
});
