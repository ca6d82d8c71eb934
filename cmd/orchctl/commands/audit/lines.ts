/** The lines of audit logs: files with those that rotation has put aside, compressed or not, or standard input. */
import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { parseTime } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

/** Longer lines are cut, and then are no events: an event holds at most some objects. */
const maxLineChars = 64 * 1024 * 1024;

/** `sinceMs`: files that were put aside before are left out. Throws CommandError for files that cannot be read. */
export async function* logLines({ args, stdin, values }: Invocation, sinceMs: number): AsyncGenerator<string> {
  if (args.length === 0) yield* linesOf(stdin, 'standard input');
  for (const path of args) {
    if (path === '-') yield* linesOf(stdin, 'standard input');
    else {
      const files = values.bool('one-file') ? [path] : await withBackups(path, sinceMs);
      for (const file of files) yield* linesOf(createReadStream(file), file);
    }
  }
}

/** The file, after those that its rotation has put aside, oldest first. */
async function withBackups(path: string, sinceMs: number): Promise<string[]> {
  let names: string[];
  try {
    names = await readdir(dirname(path));
  } catch {
    // Opening the file says what is wrong.
    return [path];
  }
  return [...backupsOf(basename(path), names, sinceMs).map((name) => join(dirname(path), name)), path];
}

/** Names such as `audit-2022-05-03T08-00-00.000.log` and `….log.gz`, in the order of their times, from `sinceMs` on. Pure. */
export function backupsOf(name: string, names: readonly string[], sinceMs: number): string[] {
  const end = extname(name);
  const prefix = `${name.slice(0, name.length - end.length)}-`;
  const backups = names.filter((each) => {
    if (!each.startsWith(prefix)) return false;
    const rest = each.slice(prefix.length);
    const [, date = '', hour, minute, second] = /^(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d\.\d{3})/.exec(rest) ?? [];
    const suffix = rest.slice('2022-05-03T08-00-00.000'.length);
    if (date === '' || (suffix !== end && suffix !== `${end}.gz`)) return false;
    return parseTime(`${date}T${hour}:${minute}:${second}Z`) >= sinceMs;
  });
  return backups.sort();
}

async function* linesOf(source: Readable, name: string): AsyncGenerator<string> {
  try {
    yield* splitLines(await unpacked(source));
  } catch (error) {
    throw new CommandError(`${name}: ${messageOf(error)}`);
  }
}

/** Decompresses what begins like gzip, whatever its name is. */
async function unpacked(source: Readable): Promise<AsyncIterable<Buffer>> {
  const chunks = source[Symbol.asyncIterator]() as AsyncIterator<Buffer | string>;
  let first = Buffer.alloc(0);
  while (first.length < 2) {
    const { value, done } = await chunks.next();
    if (done === true) break;
    first = Buffer.concat([first, Buffer.from(value)]);
  }
  const whole = (async function* () {
    yield first;
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) yield Buffer.from(next.value);
  })();
  if (first[0] !== 0x1f || first[1] !== 0x8b) return whole;
  const gunzip = createGunzip();
  void (async () => {
    try {
      for await (const chunk of whole) {
        if (!gunzip.write(chunk)) await new Promise((resolve) => gunzip.once('drain', resolve));
      }
      gunzip.end();
    } catch (error) {
      gunzip.destroy(error as Error);
    }
  })();
  return gunzip;
}

async function* splitLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let begun: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      begun.push(chunk.subarray(from, end));
      yield Buffer.concat(begun).toString();
      begun = [];
      size = 0;
      from = end + 1;
    }
    if (from === chunk.length || size > maxLineChars) continue;
    const rest = chunk.subarray(from);
    begun.push(rest);
    size += rest.length;
  }
  if (size > 0) yield Buffer.concat(begun).toString();
}
