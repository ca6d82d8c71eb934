import { mkdtemp, readdir, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { parseRequestTarget } from '#daemon/serving/request-target.js';
import { systemLogs } from '#daemon/serving/system-logs.js';

/** Open files of this process, by path. */
async function openFiles(): Promise<string[]> {
  const numbers = await readdir('/proc/self/fd');
  return Promise.all(numbers.map((number) => readlink(`/proc/self/fd/${number}`).catch(() => '')));
}

t.test('a file is open only while it is read', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'orch-logs-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const path = join(dir, 'a.log');
  const first = Buffer.alloc(200_000, 'a');
  await writeFile(path, first);
  const ask = () => systemLogs(parseRequestTarget('GET', '/logs/a.log'), { dir, linkedDirs: [] });
  const isOpen = async () => (await openFiles()).includes(path);

  const { body, headers } = await ask();
  t.notOk(await isOpen(), 'an unread response holds no open file');
  await writeFile(path, 'more', { flag: 'a' });
  const chunks: Buffer[] = [];
  for await (const chunk of body as AsyncIterable<Buffer>) {
    if (chunks.length === 0) t.ok(await isOpen());
    chunks.push(chunk);
  }
  t.equal(headers['content-length'], String(first.length));
  t.ok(Buffer.concat(chunks).equals(first), 'the content at the time of the request');
  t.notOk(await isOpen());

  for await (const _ of (await ask()).body as AsyncIterable<Buffer>) break;
  t.notOk(await isOpen(), 'a response that breaks off holds none either');

  const lost = (await ask()).body as AsyncIterable<Buffer>;
  await rm(path);
  await t.rejects(lost[Symbol.asyncIterator]().next(), /the log a\.log is gone/);
});
