import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { realClock as clock } from '#apimachinery/clock.js';
import { backupName, backupsOf, expired, LockFile, LogFile } from '#apiserver/audit/log-file.js';
import { silentLogger as log } from '#daemon/log/logger.js';

const logPath = '/var/log/audit.log';
const dayMs = 24 * 3_600_000;
const now = Date.parse('2022-05-03T10:20:30.123Z');

t.test('concurrent writers of one file lose no line, and only one of them rotates it at a time', async (t) => {
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
      // Some lines are written together, some alone.
      if (line % 7 === 0) await writes.at(-1);
    }
    await Promise.all(writes);
  };
  await Promise.all(files.map(write));
  await Promise.all(files.map((file) => file.close()));
  const names = await readdir(join(folder, 'deep'));
  t.ok(names.length > 2, `${names.length} files`);
  const texts = await Promise.all(names.map((name) => readFile(join(folder, 'deep', name), 'utf8')));
  const written = texts.flatMap((text) => text.split('\n')).filter((line) => line !== '');
  t.ok(
    written.every((line) => /^\d-\d+ x{100}$/.test(line)),
    'lines are whole',
  );
  t.equal(new Set(written).size, files.length * lines);
});

t.test('a lock left by a process that died during rotation expires', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'log-file-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const path = join(folder, 'audit.log.lock');
  let nowMs = Date.now();
  const [one, other] = [new LockFile(path, { now: () => nowMs }), new LockFile(path, { now: () => nowMs })];
  t.ok(await one.acquire());
  t.notOk(await other.acquire());
  await one.release();
  t.ok(await other.acquire());
  nowMs += 60_000;
  t.notOk(await one.acquire(), 'the first attempt removes the stale lock');
  t.ok(await one.acquire());
});

t.test('names of rotated files', async (t) => {
  t.equal(backupName(logPath, now), '/var/log/audit-2022-05-03T10-20-30.123.log');
  const names = [
    'audit.log',
    'audit-2022-05-01T00-00-00.000.log.gz',
    'audit-2022-05-03T10-20-30.123.log',
    'audit-2022-99-99T10-20-30.123.log',
    'audit-old.log',
    'other-2022-05-03T10-20-30.123.log',
  ];
  t.same(
    backupsOf(logPath, names).map(({ name }) => name),
    ['audit-2022-05-03T10-20-30.123.log', 'audit-2022-05-01T00-00-00.000.log.gz'],
    'the newest first',
  );
});

t.test('rotated files expire by age and by number', async (t) => {
  const backups = [1, 2, 3].map((age) => ({ name: String(age), atMs: now - age * dayMs }));
  const expiredNames = (maxBackups: number, maxAge: number) =>
    expired(backups, { maxBackups, maxAge, compress: false }, now).map(({ name }) => name);
  t.same(expiredNames(0, 0), []);
  t.same(expiredNames(1, 0), ['2', '3']);
  t.same(expiredNames(0, 2), ['3']);
  t.same(expiredNames(1, 2), ['2', '3']);
});
