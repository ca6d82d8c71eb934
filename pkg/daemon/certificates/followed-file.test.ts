import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { FileFollower, FollowedFile } from '#daemon/certificates/followed-file.js';
import { OptionsError } from '#daemon/options/option.js';

function number(text: string): number {
  if (!/^\d+$/.test(text)) throw new Error('no number');
  return Number(text);
}

t.test('a replaced file is read again', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'followed-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const path = join(folder, 'n');
  t.equal(await FollowedFile.read('n-file', '', number), undefined, 'none is named');
  await t.rejects(FollowedFile.read('n-file', path, number), { message: /--n-file: ENOENT/ });
  await writeFile(path, 'x');
  await t.rejects(FollowedFile.read('n-file', path, number), OptionsError);
  await writeFile(path, '1');
  const file = await FollowedFile.read('n-file', path, number);
  if (file === undefined) throw new Error('no file');
  t.equal(file.current, 1);

  const listening = new AbortController();
  const seen: number[] = [];
  file.onChange(() => seen.push(file.current), listening.signal);
  await file.reload();
  t.same(seen, [], 'an equal text is no change');
  await writeFile(path, 'half');
  await t.rejects(file.reload(), { message: `--n-file: ${path}: no number` });
  t.equal(file.current, 1, 'the old content stays in use');

  const follower = new FileFollower([undefined, file], { clock: realClock, log: pino({ enabled: false }) });
  const work = follower.start(new AbortController().signal);
  await writeFile(`${path}.new`, '2');
  await rename(`${path}.new`, path);
  // Following files does not keep a process alive.
  while (seen.length === 0) await realClock.sleep(20);
  t.same(seen, [2]);
  await follower.close();
  await work;
  listening.abort();
  await writeFile(path, '3');
  await file.reload();
  t.same(seen, [2], 'an aborted listener is not called');
});
