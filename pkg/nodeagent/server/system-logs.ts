/**
 * `/logs/`: the node's log directory, to read. Release 1.24 follows links to wherever they lead; here what is opened must lie
 * in the directory itself, or in that of the pods' logs, which its links lead to.
 */
import { constants } from 'node:fs';
import { type FileHandle, open, readdir, readlink, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { DaemonApp } from '#daemon/serving/daemon-app.js';
import { parseRequestTarget } from '#daemon/serving/request-target.js';
import { plain } from '#nodeagent/server/plain-answers.js';

/** Names of a directory that are shown at most. */
const maxEntries = 10_000;

export interface SystemLogsOptions {
  /** `/var/log`. */
  readonly dir: string;
  /** Where links may lead, too. */
  readonly podLogsDir: string;
}

export function addSystemLogRoutes(app: DaemonApp, options: SystemLogsOptions): void {
  const answer = (request: FastifyRequest, reply: FastifyReply) => send(request, reply, options);
  for (const url of ['/logs', '/logs/', '/logs/*']) app.get(url, answer);
}

async function send(request: FastifyRequest, reply: FastifyReply, options: SystemLogsOptions): Promise<FastifyReply> {
  // Its segments are names: none is empty, a dot segment, or holds a separator.
  const { segments, path } = parseRequestTarget(request.method, request.url);
  const file = await openBeneath(options, segments.slice(1));
  if (file === undefined) return plain(reply, 404, '404 page not found\n');
  let isSent = false;
  try {
    const stat = await file.stat();
    if (stat.isDirectory()) {
      if (!path.endsWith('/')) return redirect(reply, `${segments.at(-1) ?? ''}/`);
      const names = await listing(await readlink(`/proc/self/fd/${file.fd}`));
      return reply.type('text/html; charset=utf-8').header('x-content-type-options', 'nosniff').send(names);
    }
    if (!stat.isFile()) return plain(reply, 404, '404 page not found\n');
    if (path.endsWith('/')) return redirect(reply, `../${encodeURIComponent(segments.at(-1) ?? '')}`);
    reply
      .type('text/plain; charset=utf-8')
      .header('x-content-type-options', 'nosniff')
      .header('content-length', stat.size)
      .header('last-modified', stat.mtime.toUTCString());
    isSent = true;
    if (stat.size === 0) {
      isSent = false;
      return reply.send('');
    }
    // What is written meanwhile is not part of the answer: it would have no end.
    return reply.send(file.createReadStream({ end: stat.size - 1 }));
  } finally {
    if (!isSent) await file.close();
  }
}

function redirect(reply: FastifyReply, location: string): FastifyReply {
  return reply.code(301).header('location', location).send();
}

/** Undefined for what is not there, may not be read, or leads out of the directories. */
async function openBeneath({ dir, podLogsDir }: SystemLogsOptions, names: readonly string[]) {
  let file: FileHandle | undefined;
  try {
    const roots = await Promise.all([dir, podLogsDir].map((root) => realpath(root).catch(() => undefined)));
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
