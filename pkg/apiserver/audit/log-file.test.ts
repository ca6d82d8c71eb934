import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { realClock as clock } from '#apimachinery/clock.js';
import { LockFile, LogFile } from '#apiserver/audit/log-file.js';
import { silentLogger as log } from '#daemon/log/logger.js';

t.test('several writers of one file lose nothing, and put it aside once at a time', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'log-file-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const path = join(folder, 'deep', 'audit.log');
  const retention = { maxBackups: 0, maxAge: 0, compress: false };
  const files = Array.from({ length: 3 }, () => new LogFile({ path, maxBytes: 20_000, retention, clock, log }));
  const lines = 300;
  const write = async (file: LogFile, i: number) => {
    const writes: Promise<void>[] = [];
    for (let line = 0; line < lines; line++) {
      writes.push(file.append(`${i}-${line} ${'x'.repeat(100)}\n`));
      // Some go together, some alone.
      if (line % 7 === 0) await writes.at(-1);
    }
    await Promise.all(writes);
  };
  await Promise.all(files.map(write));
  await Promise.all(files.map((file) => file.close()));
  const names = await readdir(join(folder, 'deep'));
  t.ok(names.length > 2, `${names.length} files`);
  const texts = await Promise.all(names.map((name) => readFile(join(folder, 'deep', name), 'utf8')));
  const found = texts.flatMap((text) => text.split('\n')).filter((line) => line !== '');
  t.ok(
    found.every((line) => /^\d-\d+ x{100}$/.test(line)),
    'lines are whole',
  );
  t.equal(new Set(found).size, files.length * lines);
});

t.test('a process that died while it put a file aside keeps no other from it', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'log-file-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const path = join(folder, 'audit.log.lock');
  let nowMs = Date.now();
  const [one, other] = [new LockFile(path, { now: () => nowMs }), new LockFile(path, { now: () => nowMs })];
  t.ok(await one.take());
  t.notOk(await other.take());
  await one.leave();
  t.ok(await other.take());
  nowMs += 60_000;
  t.notOk(await one.take(), 'the lock that is left over goes first');
  t.ok(await one.take());
});
