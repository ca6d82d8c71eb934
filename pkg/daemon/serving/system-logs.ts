/**
 * `/logs/` of a daemon: the machine's log directory, to read. Release 1.24 follows links to wherever they lead; here what is
 * opened must lie in the directory itself, or in one of those that its links are known to lead to.
 */
import { constants, type ReadStream } from 'node:fs';
import { type FileHandle, open, readdir, readlink, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { RequestTarget } from '#daemon/serving/request-target.js';

/** Names of a directory that are shown at most. */
const maxEntries = 10_000;

export interface SystemLogsOptions {
  /** `/var/log`. */
  readonly dir: string;
  /** Where links may lead, too. */
  readonly linkedDirs: readonly string[];
}

/** A stream as the body must be read or destroyed: it holds the file. */
export interface SystemLogsAnswer {
  readonly status: 200 | 301 | 404;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | ReadStream;
}

const notFound: SystemLogsAnswer = {
  status: 404,
  headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
  body: '404 page not found\n',
};

/** `target`: `/logs` and what is below it. Its segments are names: none is empty, a dot segment, or holds a separator. */
export async function systemLogs(
  { segments, path }: RequestTarget,
  options: SystemLogsOptions,
): Promise<SystemLogsAnswer> {
  const file = await openBeneath(options, segments.slice(1));
  if (file === undefined) return notFound;
  let isStreamed = false;
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
    // What is written meanwhile is not part of the answer: it would have no end.
    const body = file.createReadStream({ end: stat.size - 1 });
    isStreamed = true;
    return page('text/plain', body, { 'content-length': String(stat.size), 'last-modified': lastModified });
  } finally {
    if (!isStreamed) await file.close();
  }
}

function page(
  type: string,
  body: string | ReadStream,
  headers: Readonly<Record<string, string>> = {},
): SystemLogsAnswer {
  const kind = { 'content-type': `${type}; charset=utf-8`, 'x-content-type-options': 'nosniff' };
  return { status: 200, headers: { ...kind, ...headers }, body };
}

function moved(location: string): SystemLogsAnswer {
  return { status: 301, headers: { location }, body: '' };
}

/** Undefined for what is not there, may not be read, or leads out of the directories. */
async function openBeneath({ dir, linkedDirs }: SystemLogsOptions, names: readonly string[]) {
  let file: FileHandle | undefined;
  try {
    const roots = await Promise.all([dir, ...linkedDirs].map((root) => realpath(root).catch(() => undefined)));
    const isAllowed = (path: string) =>
      roots.some((root) => root !== undefined && (path === root || path.startsWith(`${root}${sep}`)));
    const path = await realpath(join(dir, ...names));
    // Devices and the like are not even opened; what changes meanwhile is seen by what was opened.
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
