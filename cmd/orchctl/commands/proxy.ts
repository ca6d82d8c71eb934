import { lstat, rm, stat } from 'node:fs/promises';
import { extname } from 'node:path';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { aborted } from '#apimachinery/async/abort.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { hostPort } from '#apimachinery/net/host-port.js';
import type { Command } from '#cmd/orchctl/commands/command.js';
import { portOption } from '#cmd/orchctl/commands/options.js';
import { filterDefaults, requestFilter } from '#cmd/orchctl/proxy/api-proxy.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';
import type { Values } from '#cmd/orchctl/terminal/values.js';
import { parseRequestTarget } from '#daemon/serving/request-target.js';
import { systemLogs } from '#daemon/serving/system-logs.js';

/** Media types that browsers do not detect themselves. */
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

/** Serves the files of a directory for `--www`. @param prefix Ends with a slash. */
function addStaticFiles(app: FastifyInstance, prefix: string, dir: string): void {
  const depth = prefix.split('/').length - 2;
  app.get(`${prefix}*`, async ({ method, url }: FastifyRequest, reply: FastifyReply) => {
    const target = parseRequestTarget(method, url);
    // The first segment is the root.
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

const defaultPort = 8001;

export const proxy: Command = {
  name: 'proxy',
  usage: '[--port=PORT] [--www=DIR] [--www-prefix=PREFIX] [--api-prefix=PREFIX]',
  summary: 'Forward local requests to the API server with the credentials of the client configuration',
  examples: [
    'orchctl proxy',
    'orchctl proxy --port=0 --api-prefix=/custom/',
    'orchctl proxy --www=./pages --www-prefix=/static/',
  ],
  options: {
    ...portOption(defaultPort, 'Port to listen on; 0: any free one, which is printed.'),
    address: { type: 'string', default: '127.0.0.1', section: 'Listening', meaning: 'Address to listen on.' },
    'unix-socket': {
      type: 'string',
      shorthand: 'u',
      section: 'Listening',
      meaning: 'Unix socket to listen on instead.',
    },
    'api-prefix': { type: 'string', default: '/', section: 'Paths', meaning: 'Path prefix of the API.' },
    'append-server-path': {
      type: 'bool',
      section: 'Paths',
      meaning: "Append request paths to the server's path in the client configuration.",
    },
    www: { type: 'string', shorthand: 'w', section: 'Paths', meaning: 'Directory of files to serve as well.' },
    'www-prefix': {
      type: 'string',
      shorthand: 'P',
      default: '/static/',
      section: 'Paths',
      meaning: 'Path prefix of these files.',
    },
    'accept-hosts': {
      type: 'string',
      default: filterDefaults.acceptHosts,
      section: 'Filter',
      meaning: 'Regular expressions for accepted Host headers.',
    },
    'accept-paths': {
      type: 'string',
      default: filterDefaults.acceptPaths,
      section: 'Filter',
      meaning: 'Regular expressions for paths to forward.',
    },
    'reject-paths': {
      type: 'string',
      default: filterDefaults.rejectPaths,
      section: 'Filter',
      meaning: 'Regular expressions for paths to refuse; override --accept-paths.',
    },
    'reject-methods': {
      type: 'string',
      default: filterDefaults.rejectMethods,
      section: 'Filter',
      meaning: 'Regular expressions for methods to refuse, such as POST,PUT,PATCH.',
    },
    'disable-filter': {
      type: 'bool',
      section: 'Filter',
      meaning: 'Forward every request. Any web page that can reach the port may then use the API.',
    },
  },
  async run({ api, clock, err, out, signal, values }) {
    const socketPath = values.string('unix-socket') ?? '';
    if (socketPath !== '' && values.number('port') !== defaultPort)
      throw new UsageError('cannot set --unix-socket and --port at the same time');
    if (values.bool('disable-filter') && socketPath === '')
      err.write('Warning: Request filter disabled, your proxy is vulnerable to XSRF attacks, please be cautious\n');
    const target = () => api.webSocket('');
    const { pathname } = new URL((await target()).url);
    const appendServerPath = values.bool('append-server-path');
    if (!appendServerPath && pathname !== '/')
      err.write(
        `Warning: the server of the client configuration has the path ${pathname}; use --append-server-path to append request paths to it\n`,
      );
    const { apiProxy } = await import('#cmd/orchctl/proxy/api-proxy.js');
    const apiPrefix = prefixOf(values, 'api-prefix');
    const app = await apiProxy({ clock, target, apiPrefix, appendServerPath, accepts: filterOf(values) });
    const dir = values.string('www') ?? '';
    if (dir !== '') {
      if (!(await stat(dir).catch(() => undefined))?.isDirectory()) err.write(`Warning: ${dir} is not a directory\n`);
      addStaticFiles(app, prefixOf(values, 'www-prefix'), dir);
    }
    if (socketPath === '') {
      await app.listen({ host: values.string('address') ?? '', port: values.number('port') });
      const bound = app.server.address();
      if (typeof bound !== 'object' || bound === null) throw new CommandError('the listening port is unavailable');
      out.write(`Starting to serve on ${hostPort(bound.address, bound.port)}\n`);
    } else {
      if ((await lstat(socketPath).catch(() => undefined))?.isSocket()) await rm(socketPath);
      // Create the socket so that only its owner can connect.
      const before = process.umask(0o077);
      await app.listen({ path: socketPath }).finally(() => process.umask(before));
      out.write(`Starting to serve on ${socketPath}\n`);
    }
    await aborted(signal);
    await app.close();
    return 0;
  },
};

function prefixOf(values: Values, name: string): string {
  const text = values.string(name) ?? '';
  if (!text.startsWith('/')) throw new UsageError(`--${name} ${JSON.stringify(text)} must begin with a slash`);
  return text.endsWith('/') ? text : `${text}/`;
}

function filterOf(values: Values) {
  if (values.bool('disable-filter')) return undefined;
  const rule = (name: string) => values.string(name) ?? '';
  try {
    return requestFilter({
      acceptPaths: rule('accept-paths'),
      rejectPaths: rule('reject-paths'),
      acceptHosts: rule('accept-hosts'),
      rejectMethods: rule('reject-methods'),
    });
  } catch (error) {
    throw new UsageError(`invalid regular expression in a filter: ${messageOf(error)}`);
  }
}
