import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { headerBlocks, padded, type TarHeader } from '#cmd/orchctl/streams/tar/header.js';
import { pack } from '#cmd/orchctl/streams/tar/pack.js';
import { Unpacker } from '#cmd/orchctl/streams/tar/unpack.js';

async function packed(path: string, name: string): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of pack(path, name)) parts.push(part);
  return Buffer.concat(parts);
}

function unpack(archive: Buffer, destination: string, prefix = '', pieces: number[] = []) {
  const warnings: string[] = [];
  const unpacker = new Unpacker({ prefix, destination, warn: (text) => warnings.push(text) });
  let at = 0;
  for (const size of pieces) {
    unpacker.write(archive.subarray(at, at + size));
    at += size;
  }
  unpacker.write(archive.subarray(at));
  unpacker.end();
  return { warnings, count: unpacker.count };
}

const entry = (header: Partial<TarHeader>, content = ''): Buffer =>
  Buffer.concat([
    headerBlocks({ name: 'x', size: Buffer.byteLength(content), type: '0', linkName: '', mode: 0o644, ...header }),
    padded(Buffer.from(content)),
  ]);

t.test('other programs read what was packed, and the other way round', async (t) => {
  const folder = t.testdir({ from: { a: 'one', deep: { b: 'x'.repeat(1500) }, empty: {} }, to: {}, back: {} });
  const long = `${'long-'.repeat(30)}name`;
  writeFileSync(join(folder, 'from', long), 'long');
  symlinkSync('a', join(folder, 'from', 'link'));
  const archive = await packed(join(folder, 'from'), 'new');
  execFileSync('tar', ['-xf', '-', '-C', join(folder, 'to')], { input: archive });
  for (const [path, text] of [
    ['a', 'one'],
    ['deep/b', 'x'.repeat(1500)],
    [long, 'long'],
    ['link', 'one'],
  ] as const) {
    t.equal(readFileSync(join(folder, 'to', 'new', path), 'utf8'), text, path);
  }
  t.ok(existsSync(join(folder, 'to', 'new', 'empty')));
  for (const format of ['gnu', 'posix']) {
    const other = execFileSync('tar', ['-cf', '-', `--format=${format}`, '-C', join(folder, 'from'), '.']);
    const random = seededRandom(1);
    const pieces = Array.from({ length: 40 }, () => 1 + Math.floor(random() * 300));
    const { warnings } = unpack(other, join(folder, 'back', format), './', pieces);
    t.equal(readFileSync(join(folder, 'back', format, 'deep', 'b'), 'utf8'), 'x'.repeat(1500), format);
    t.equal(readFileSync(join(folder, 'back', format, long), 'utf8'), 'long', format);
    t.match(warnings, [/skipping symlink: .*link" -> "a"/]);
  }
});

t.test('nothing is written outside of the destination', (t) => {
  const folder = t.testdir({ inside: {}, secret: 'mine' });
  const inside = join(folder, 'inside');
  const archive = Buffer.concat([
    entry({ name: 'a/../../../escaped' }, 'bad'),
    entry({ name: 'a/./ok' }, 'good'),
    entry({ name: 'a/link', type: '2', linkName: '..' }),
    entry({ name: 'a/link/through' }, 'folder'),
    entry({ name: 'a/hard', type: '1', linkName: '/etc/passwd' }),
    entry({ name: 'a/device', type: '3' }),
    Buffer.alloc(1024),
    entry({ name: 'a/behind-the-end' }, 'bad'),
  ]);
  const { warnings } = unpack(archive, inside, 'a');
  t.equal(warnings.length, 3, warnings.join(''));
  t.match(warnings[0], /"[^"]*escaped" is outside target destination, skipping/);
  t.notOk(existsSync(join(folder, 'escaped')));
  t.equal(readFileSync(join(inside, 'ok'), 'utf8'), 'good');
  t.ok(lstatSync(join(inside, 'link')).isDirectory(), 'a folder, where the archive had a link');
  t.notOk(existsSync(join(inside, 'hard')));
  t.notOk(existsSync(join(inside, 'device')));
  t.notOk(existsSync(join(inside, 'behind-the-end')));
  t.end();
});

t.test('links of the destination are not followed', (t) => {
  const folder = t.testdir({ inside: {}, outside: { file: 'mine' } });
  symlinkSync(join(folder, 'outside'), join(folder, 'inside', 'sub'));
  symlinkSync(join(folder, 'outside', 'file'), join(folder, 'inside', 'file'));
  t.throws(() => unpack(entry({ name: 'sub/new' }, 'x'), join(folder, 'inside')), /symbolic link/);
  t.throws(() => unpack(entry({ name: 'file' }, 'x'), join(folder, 'inside')), /ELOOP/);
  t.equal(readFileSync(join(folder, 'outside', 'file'), 'utf8'), 'mine');
  t.end();
});

t.test('archives that were changed are refused', (t) => {
  const folder = t.testdir({});
  mkdirSync(join(folder, 'd'));
  const good = entry({ name: 'p/x' }, 'content');
  const wrong = Buffer.from(good);
  wrong[0] = 65;
  t.throws(() => unpack(wrong, folder), { message: 'tar contents corrupted' }, 'a wrong sum');
  t.throws(() => unpack(good, folder, 'q/'), { message: 'tar contents corrupted' }, 'another prefix');
  t.throws(() => unpack(good.subarray(0, 515), folder), { message: 'unexpected EOF' }, 'cut off');
  const huge = headerBlocks({ name: 'p', size: 1024 * 1024 * 1024, type: 'x', linkName: '', mode: 0 });
  t.throws(() => unpack(huge, folder), { message: 'tar contents corrupted' }, 'endless names');
  t.end();
});
