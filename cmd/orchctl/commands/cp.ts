/** `cp`: files and folders to and from containers, by the tar in the container. */
import { existsSync, statSync } from 'node:fs';
import { basename, posix } from 'node:path';
import { Readable } from 'node:stream';
import type { Pod } from '#api/core/v1/types.gen.js';
import { objectPath } from '#cmd/orchctl/api/api.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { containerOf } from '#cmd/orchctl/commands/pods.js';
import { TarError } from '#cmd/orchctl/streams/tar/header.js';
import { pack } from '#cmd/orchctl/streams/tar/pack.js';
import { Unpacker } from '#cmd/orchctl/streams/tar/unpack.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';
import type { Output } from '#cmd/orchctl/terminal/terminal.js';

/** A place: a path of this machine, or one in a pod. */
interface Spec {
  readonly namespace: string | undefined;
  readonly pod: string | undefined;
  readonly path: string;
}

export const cp: Command = {
  name: 'cp',
  usage: '(PATH [NAMESPACE/]POD:PATH | [NAMESPACE/]POD:PATH PATH) [-c CONTAINER]',
  summary: 'Copy files and folders to and from containers',
  examples: ['orchctl cp page.html web-0:/usr/share/nginx/html/', 'orchctl cp shop/web-0:/var/log ./logs -c main'],
  completes: 'pods',
  options: {
    container: { type: 'string', shorthand: 'c', section: 'Selection', meaning: 'Container; default: the first.' },
    'no-preserve': {
      type: 'bool',
      section: 'Writing',
      meaning: 'Let files in the container belong to its user, with its permissions.',
    },
  },
  async run(invocation) {
    const { args } = invocation;
    const [from, to, more] = args;
    if (from === undefined || to === undefined || more !== undefined) {
      throw new CommandError('source and destination are required');
    }
    const [source, target] = [specOf(from), specOf(to)];
    if (source.pod !== undefined && target.pod !== undefined) {
      throw new CommandError('one of src or dest must be a local file specification');
    }
    if (source.path === '' || target.path === '') throw new CommandError('filepath can not be empty');
    if (source.pod !== undefined) return download(invocation, source, target.path);
    if (target.pod !== undefined) return upload(invocation, source.path, target);
    throw new CommandError('one of src or dest must be a remote file specification');
  },
};

function specOf(text: string): Spec {
  const at = text.indexOf(':');
  const invalid = new CommandError('filespec must match the canonical format: [[namespace/]pod:]file/path');
  if (at === 0) throw invalid;
  if (at < 0) return { namespace: undefined, pod: undefined, path: withoutSlash(text) };
  const parts = text.slice(0, at).split('/');
  const path = withoutSlash(text.slice(at + 1));
  if (parts.length > 2) throw invalid;
  const [first = '', second] = parts;
  return second === undefined ? { namespace: undefined, pod: first, path } : { namespace: first, pod: second, path };
}

function withoutSlash(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

async function upload(invocation: Invocation, path: string, target: Spec): Promise<number> {
  if (!existsSync(path)) throw new CommandError(`${path} doesn't exist in local filesystem`);
  const silent = { write: () => true };
  // Into a folder that is there, else under the new name.
  const isFolder = await remote(invocation, target, ['test', '-d', target.path], { out: silent, err: silent }).then(
    (code) => code === 0,
    () => false,
  );
  const destination = isFolder ? posix.join(target.path, basename(path)) : target.path;
  const folder = posix.dirname(destination);
  const flags = invocation.values.bool('no-preserve') ? ['--no-same-permissions', '--no-same-owner'] : [];
  const command = ['tar', ...flags, '-xmf', '-', ...(folder === '' || folder === '.' ? [] : ['-C', folder])];
  const stdin = Readable.from(pack(path, posix.basename(destination)));
  const { out, err } = invocation;
  const code = await remote(invocation, target, command, { out, err, stdin });
  if (code !== 0) throw new CommandError(`command terminated with exit code ${code}`, code);
  return 0;
}

async function download(invocation: Invocation, source: Spec, destination: string): Promise<number> {
  const { err } = invocation;
  const place = posix.normalize(source.path.replace(/^[/\\]+/, ''));
  const prefix = place.replace(/^(\.\.\/)+/, '').replace(/^\.\.?$/, '');
  // Into a folder that is there, under the name that it has in the container.
  const isFolder = existsSync(destination) && statSync(destination).isDirectory();
  const target = isFolder && prefix !== '' ? posix.join(destination, posix.basename(prefix)) : destination;
  const unpacker = new Unpacker({ prefix, destination: target, warn: (text) => err.write(text) });
  let failure: unknown;
  const out: Output = {
    write(chunk) {
      if (failure !== undefined) return false;
      try {
        unpacker.write(Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk));
        return true;
      } catch (error) {
        failure = error;
        return false;
      }
    },
  };
  const code = await remote(invocation, source, ['tar', 'cf', '-', source.path], { out, err });
  if (failure !== undefined) throw failure instanceof TarError ? new CommandError(failure.message) : failure;
  if (code !== 0) throw new CommandError(`command terminated with exit code ${code}`, code);
  try {
    unpacker.end();
  } catch (error) {
    throw error instanceof TarError ? new CommandError(error.message) : error;
  }
  return 0;
}

interface Streams {
  readonly out: Output;
  readonly err: Output;
  readonly stdin?: Readable;
}

/** The exit code of the program in the container. */
async function remote(
  invocation: Invocation,
  { namespace = invocation.namespace, pod: name = '' }: Spec,
  command: readonly string[],
  { out, err, stdin }: Streams,
): Promise<number> {
  const { api, onResize, signal } = invocation;
  const pods = (await api.catalog()).one('pods');
  const pod = await api.get<Pod>(pods, name, { namespace });
  if (pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed') {
    throw new CommandError(`cannot exec into a container in a completed pod; current phase is ${pod.status.phase}`);
  }
  const query = new URLSearchParams(command.map((word): [string, string] => ['command', word]));
  query.set('container', containerOf(pod, invocation));
  query.set('stdout', 'true');
  query.set('stderr', 'true');
  if (stdin !== undefined) query.set('stdin', 'true');
  const path = `${objectPath(pods, name, { namespace }, 'exec')}?${query.toString()}`;
  const { runRemote } = await import('#cmd/orchctl/streams/remote.js');
  return runRemote(await api.webSocket(path), {
    stdin: stdin as NodeJS.ReadStream | undefined,
    ...{ out, err, tty: false, onResize, signal },
  });
}
