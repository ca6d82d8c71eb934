/** The files of a directory, as `--www` shows them. */
import { extname } from 'node:path';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { parseRequestTarget } from '#daemon/serving/request-target.js';
import { systemLogs } from '#daemon/serving/system-logs.js';

/** What browsers do not find out by themselves. */
const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.htm': 'text/html; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.mjs': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
};
const index = 'index.html';

/** @param prefix Ends with a slash. */
export function addStaticFiles(app: FastifyInstance, prefix: string, dir: string): void {
  const depth = prefix.split('/').length - 2;
  app.get(`${prefix}*`, async ({ method, url }: FastifyRequest, reply: FastifyReply) => {
    const target = parseRequestTarget(method, url);
    // The first is the name of the whole.
    const segments = ['', ...target.segments.slice(depth)];
    const find = (path: string, ...more: string[]) =>
      systemLogs({ ...target, path, segments: [...segments, ...more] }, { dir, linkedDirs: [] });
    const page = target.path.endsWith('/') ? await find(`${target.path}${index}`, index) : undefined;
    const isPage = page?.status === 200;
    const answer = isPage ? page : await find(target.path);
    const type = isPage ? types['.html'] : types[extname(target.path)];
    return reply
      .code(answer.status)
      .headers({ ...answer.headers, ...(type === undefined || answer.status !== 200 ? {} : { 'content-type': type }) })
      .send(typeof answer.body === 'string' ? answer.body : Readable.from(answer.body));
  });
}
