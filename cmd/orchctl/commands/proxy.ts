import { lstat, rm, stat } from 'node:fs/promises';
import { aborted } from '#apimachinery/async/aborted.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { hostPort } from '#apimachinery/net/host-port.js';
import type { Command, Values } from '#cmd/orchctl/commands/command.js';
import { filterDefaults, requestFilter } from '#cmd/orchctl/proxy/filter.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';

const defaultPort = 8001;

export const proxy: Command = {
  name: 'proxy',
  usage: '[--port=PORT] [--www=DIR] [--www-prefix=PREFIX] [--api-prefix=PREFIX]',
  summary: 'Pass requests of this machine on to the API server, as the user of the client configuration',
  examples: [
    'orchctl proxy',
    'orchctl proxy --port=0 --api-prefix=/custom/',
    'orchctl proxy --www=./pages --www-prefix=/static/',
  ],
  options: {
    port: {
      type: 'int',
      shorthand: 'p',
      default: defaultPort,
      min: 0,
      section: 'Listening',
      meaning: 'Port to listen on; 0 for any free one, which is printed.',
    },
    address: { type: 'string', default: '127.0.0.1', section: 'Listening', meaning: 'Address to listen on.' },
    'unix-socket': {
      type: 'string',
      shorthand: 'u',
      section: 'Listening',
      meaning: 'Socket of the file system to listen on instead.',
    },
    'api-prefix': { type: 'string', default: '/', section: 'Paths', meaning: 'Under which the API is found.' },
    'append-server-path': {
      type: 'bool',
      section: 'Paths',
      meaning: 'Ask below the path of the server in the client configuration.',
    },
    www: { type: 'string', shorthand: 'w', section: 'Paths', meaning: 'Directory whose files are served, too.' },
    'www-prefix': {
      type: 'string',
      shorthand: 'P',
      default: '/static/',
      section: 'Paths',
      meaning: 'Under which these files are found.',
    },
    'accept-hosts': {
      type: 'string',
      default: filterDefaults.acceptHosts,
      section: 'Filter',
      meaning: 'Regular expressions for hosts that requests may name.',
    },
    'accept-paths': {
      type: 'string',
      default: filterDefaults.acceptPaths,
      section: 'Filter',
      meaning: 'Regular expressions for paths that are passed on.',
    },
    'reject-paths': {
      type: 'string',
      default: filterDefaults.rejectPaths,
      section: 'Filter',
      meaning: 'Regular expressions for paths that are refused all the same.',
    },
    'reject-methods': {
      type: 'string',
      default: filterDefaults.rejectMethods,
      section: 'Filter',
      meaning: 'Regular expressions for methods that are refused, such as POST,PUT,PATCH.',
    },
    'disable-filter': {
      type: 'bool',
      section: 'Filter',
      meaning: 'Pass on everything. Every page that a browser shows may then use the API, where it can reach the port.',
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
        `Warning: the server of the client configuration has the path ${pathname}; --append-server-path asks below it\n`,
      );
    const { apiProxy } = await import('#cmd/orchctl/proxy/api-proxy.js');
    const apiPrefix = prefixOf(values, 'api-prefix');
    const app = await apiProxy({ clock, target, apiPrefix, appendServerPath, accepts: filterOf(values) });
    const dir = values.string('www') ?? '';
    if (dir !== '') {
      if (!(await stat(dir).catch(() => undefined))?.isDirectory()) err.write(`Warning: ${dir} is no directory\n`);
      const { addStaticFiles } = await import('#cmd/orchctl/proxy/static-files.js');
      addStaticFiles(app, prefixOf(values, 'www-prefix'), dir);
    }
    if (socketPath === '') {
      await app.listen({ host: values.string('address') ?? '', port: values.number('port') });
      const bound = app.server.address();
      if (typeof bound !== 'object' || bound === null) throw new CommandError('the port is not known');
      out.write(`Starting to serve on ${hostPort(bound.address, bound.port)}\n`);
    } else {
      if ((await lstat(socketPath).catch(() => undefined))?.isSocket()) await rm(socketPath);
      // Other users may not connect before its owner lets them.
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
    throw new UsageError(`a filter is no regular expression: ${messageOf(error)}`);
  }
}
