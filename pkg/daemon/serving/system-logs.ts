/**
 * `/logs/` of a daemon: read access to the machine's log directory. Release 1.24 follows all links; here the opened
 * file must be in the directory itself or in a known link target.
 */
import { constants } from 'node:fs';
import { type FileHandle, open, readdir, readlink, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { RequestTarget } from '#daemon/serving/request-target.js';

/** The directory of 1.24. */
export const systemLogDir = '/var/log';

/** Limit of names in a listing. */
const maxEntries = 10_000;

export interface SystemLogsOptions {
  /** The directory that `/logs/` shows. */
  readonly dir: string;
  /** Directories that links may lead to. */
  readonly linkedDirs: readonly string[];
}

export interface SystemLogsAnswer {
  readonly status: 200 | 301 | 404;
  readonly headers: Readonly<Record<string, string>>;
  /** A file's bytes are read on demand; the file is closed after the last. */
  readonly body: string | AsyncIterable<Buffer>;
}

const notFound: SystemLogsAnswer = { ...page('text/plain', '404 page not found\n'), status: 404 };

/** `target`: `/logs` or a path below it. Segments are names: not empty, no dot segments, no separators. */
export async function systemLogs(
  { segments, path }: RequestTarget,
  options: SystemLogsOptions,
): Promise<SystemLogsAnswer> {
  const names = segments.slice(1);
  const file = await openBeneath(options, names);
  if (file === undefined) return notFound;
  try {
    const stat = await file.stat();
    const name = segments.at(-1) ?? '';
    if (stat.isDirectory()) {
      if (!path.endsWith('/')) return moved(`${encodeURIComponent(name)}/`);
      return page('text/html', await listing(await readlink(`/proc/self/fd/${file.fd}`)));
    }
    if (!stat.isFile()) return notFound;
    if (path.endsWith('/')) return moved(`../${encodeURIComponent(name)}`);
    const lastModified = stat.mtime.toUTCString();
    if (stat.size === 0) return page('text/plain', '', { 'last-modified': lastModified });
    const body = contentOf(options, names, stat.size);
    return page('text/plain', body, { 'content-length': String(stat.size), 'last-modified': lastModified });
  } finally {
    await file.close();
  }
}

/**
 * The first `size` bytes; later appends would make the response endless. Opened here, because a dropped response is
 * never iterated, and a file handle that is garbage collected while open ends the process.
 */
async function* contentOf(options: SystemLogsOptions, names: readonly string[], size: number): AsyncGenerator<Buffer> {
  const file = await openBeneath(options, names);
  if (file === undefined) throw new Error(`the log ${names.join('/')} is gone`);
  try {
    yield* file.createReadStream({ end: size - 1, autoClose: false });
  } finally {
    await file.close();
  }
}

function page(
  type: string,
  body: SystemLogsAnswer['body'],
  headers: Readonly<Record<string, string>> = {},
): SystemLogsAnswer {
  const kind = { 'content-type': `${type}; charset=utf-8`, 'x-content-type-options': 'nosniff' };
  return { status: 200, headers: { ...kind, ...headers }, body };
}

function moved(location: string): SystemLogsAnswer {
  return { status: 301, headers: { location }, body: '' };
}

/** Undefined if the file does not exist, may not be read, or is outside the directories. */
async function openBeneath({ dir, linkedDirs }: SystemLogsOptions, names: readonly string[]) {
  let file: FileHandle | undefined;
  try {
    const roots = await Promise.all([dir, ...linkedDirs].map((root) => realpath(root).catch(() => undefined)));
    const isAllowed = (path: string) =>
      roots.some((root) => root !== undefined && (path === root || path.startsWith(`${root}${sep}`)));
    const path = await realpath(join(dir, ...names));
    // Devices are not opened at all. The opened file is checked again, in case the path changed.
    if (!isAllowed(path)) return undefined;
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    if (isAllowed(await readlink(`/proc/self/fd/${file.fd}`))) return file;
    await file.close();
    return undefined;
  } catch {
    await file?.close();
    return undefined;
  }
}

async function listing(path: string): Promise<string> {
  const entries = await readdir(path, { withFileTypes: true });
  const rows = entries
    .map((entry) => `${entry.name}${entry.isDirectory() ? '/' : ''}`)
    .sort()
    .slice(0, maxEntries)
    .map((name) => `<a href="${encodeURI(name).replaceAll('?', '%3F').replaceAll('#', '%23')}">${escaped(name)}</a>\n`);
  return `<pre>\n${rows.join('')}</pre>\n`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&#34;');
}
