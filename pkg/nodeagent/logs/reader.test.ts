import { appendFile, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { DiskLogFiles } from '#nodeagent/logs/disk-log-files.js';
import { type LogRequest, readLog } from '#nodeagent/logs/reader.js';
import { LogRotator, rotationSuffix } from '#nodeagent/logs/rotator.js';
import { readTail } from '#nodeagent/logs/tail.js';

const stopped = { running: () => false, onChange: () => () => undefined };
const plain: LogRequest = { follow: false, timestamps: false };
const files = new DiskLogFiles();
const at = (second: number) => `2022-05-03T00:00:0${second}.000000000Z`;
const line = (second: number, text: string, tag = 'F', stream = 'stdout') => `${at(second)} ${stream} ${tag} ${text}\n`;

async function logFile(t: { teardown(fn: () => unknown): void }, text: string) {
  const dir = await mkdtemp(join(tmpdir(), 'logs-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const path = join(dir, '0.log');
  await writeFile(path, text);
  return path;
}

async function text(path: string, request: Partial<LogRequest>): Promise<string> {
  const chunks: Buffer[] = [];
  const options = {
    files,
    path,
    request: { ...plain, ...request },
    writer: stopped,
    signal: new AbortController().signal,
  };
  for await (const chunk of readLog(options)) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

t.test('log options select the output', async (t) => {
  const path = await logFile(
    t,
    line(1, 'one') +
      line(2, 'par', 'P') +
      line(3, 'tial') +
      line(4, 'err', 'F', 'stderr') +
      'not a log line\n' +
      line(5, ''),
  );
  t.equal(await text(path, {}), 'one\npartial\nerr\n\n');
  t.equal(await text(path, { timestamps: true }), `${at(1)} one\n${at(2)} partial\n${at(4)} err\n${at(5)} \n`);
  t.equal(await text(path, { since: Date.parse(at(4)) }), 'err\n\n');
  t.equal(await text(path, { tailLines: 1 }), '\n');
  t.equal(await text(path, { limitBytes: 6 }), 'one\npa');
  t.equal(await text(`${path}.none`, {}), '');
  t.equal(await readTail(files, path, { lines: 80, bytes: 5 }), 'err\n\n');
});

t.test('the last lines of a log larger than a block are read', async (t) => {
  const path = await logFile(t, Array.from({ length: 3000 }, (_, i) => line(1, `line ${i}`)).join(''));
  t.equal(await text(path, { tailLines: 2 }), 'line 2998\nline 2999\n');
  t.equal((await text(path, { tailLines: 2000 })).split('\n').length, 2001);
  t.equal((await text(path, { tailLines: 9000 })).split('\n').length, 3001);
});

t.test('a long line is represented by its end', async (t) => {
  const path = await logFile(t, line(1, 'x'.repeat(300_000)) + line(2, 'ä'.repeat(3)));
  t.equal(await readTail(files, path, { lines: 80, bytes: 11 }), 'xxx\näää\n');
  t.equal(await readTail(files, path, { lines: 1, bytes: 2048 }), 'äää\n');
  t.equal((await readTail(files, path, { lines: 80, bytes: 2048 })).length, 2048 - 3);
});

t.test('following continues across a rotation and ends with the container', async (t) => {
  const path = await logFile(t, line(1, 'first'));
  let running = true;
  let changed = () => {};
  const writer = {
    running: () => running,
    onChange: (handler: () => void) => {
      changed = handler;
      return () => undefined;
    },
  };
  const reader = readLog({
    files,
    path,
    request: { ...plain, follow: true },
    writer,
    signal: new AbortController().signal,
  });
  const next = async () => String((await reader.next()).value);
  t.equal(await next(), 'first\n');
  const second = next();
  await appendFile(path, line(2, 'second'));
  t.equal(await second, 'second\n');
  const third = next();
  await appendFile(path, line(3, 'third'));
  await rename(path, `${path}.old`);
  await writeFile(path, line(4, 'fourth'));
  t.equal(await third, 'third\n');
  t.equal(await next(), 'fourth\n');
  const end = reader.next();
  running = false;
  changed();
  t.equal((await end).done, true);
});

t.test('malformed lines are skipped', async (t) => {
  const huge = `${at(2)} stdout F ${'x'.repeat(3 * 1024 * 1024)}\n`;
  const path = await logFile(t, line(1, 'one') + huge + line(3, 'three'));
  t.equal(await text(path, {}), 'one\nthree\n');
});

t.test('a removed log is recreated, a log that is not a file is not', async (t) => {
  const path = await logFile(t, '');
  const reopened: string[] = [];
  const rotator = new LogRotator({
    cri: { reopenContainerLog: async (id) => void reopened.push(id) },
    files,
    clock: { now: () => 0 } as never,
    log: { warn: () => undefined } as never,
    pods: () => [
      {
        ...{ uid: 'u', name: '', namespace: '', sandboxes: [] },
        containers: [{ id: 'c', logPath: path, state: 'CONTAINER_RUNNING' } as never],
      },
    ],
    maxBytes: 50,
    maxFiles: 3,
  });
  await rotator.rotateAll();
  t.same(reopened, []);
  await rename(path, `${path}.20220503-000000`);
  await rotator.rotateAll();
  t.same(reopened, ['c']);
  await symlink('/dev/null', path);
  await rotator.rotateAll();
  t.same(reopened, ['c']);
});

t.test('large logs are rotated, and the oldest is removed', async (t) => {
  const path = await logFile(t, 'x'.repeat(100));
  let now = Date.parse(at(1));
  const reopened: string[] = [];
  const container = { id: 'c', logPath: path, state: 'CONTAINER_RUNNING' };
  const rotator = new LogRotator({
    cri: {
      reopenContainerLog: async (id) => {
        reopened.push(id);
        await writeFile(path, 'y'.repeat(100));
      },
    },
    files,
    clock: { now: () => now } as never,
    log: { warn: () => undefined } as never,
    pods: () => [{ uid: 'u', name: '', namespace: '', sandboxes: [], containers: [container as never] }],
    maxBytes: 50,
    maxFiles: 3,
  });
  for (let i = 0; i < 5; i++) {
    await rotator.rotateAll();
    now += 1000;
  }
  t.equal(reopened.length, 5);
  t.same((await files.list(join(path, '..'))).sort(), [
    '0.log',
    `0.log.${rotationSuffix(now - 2000)}.gz`,
    `0.log.${rotationSuffix(now - 1000)}`,
  ]);
});
