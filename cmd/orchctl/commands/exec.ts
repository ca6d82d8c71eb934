import { objectPath } from '#cmd/orchctl/api/api.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { containerOf, podOf } from '#cmd/orchctl/commands/pods.js';
import type { RemoteStreams } from '#cmd/orchctl/streams/remote.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';

const streamOptions = {
  container: { type: 'string', shorthand: 'c', section: 'Selection', meaning: 'Container; default: the first.' },
  stdin: { type: 'bool', shorthand: 'i', section: 'Streams', meaning: 'Send standard input to the container.' },
  tty: { type: 'bool', shorthand: 't', section: 'Streams', meaning: 'Standard input is a terminal.' },
  quiet: { type: 'bool', shorthand: 'q', section: 'Streams', meaning: "Print only the program's output." },
} as const;

export const exec: Command = {
  name: 'exec',
  usage: '(POD | TYPE/NAME) [-c CONTAINER] -- COMMAND [ARG…]',
  summary: 'Run a program in a container',
  examples: ['orchctl exec deployment/web -- ls /', 'orchctl exec -it web-0 -- sh'],
  completes: 'pods',
  options: streamOptions,
  async run(invocation) {
    const [target, ...more] = invocation.args;
    const command = invocation.trailing.length > 0 ? invocation.trailing : more;
    if (target === undefined) throw new CommandError('pod, type/name or --filename must be specified');
    if (command.length === 0) throw new CommandError('you must specify at least one command for the container');
    const query = new URLSearchParams(command.map((word): [string, string] => ['command', word]));
    return open(invocation, target, 'exec', query);
  },
};

export const attach: Command = {
  name: 'attach',
  usage: '(POD | TYPE/NAME) [-c CONTAINER]',
  summary: 'Attach to a running container',
  examples: ['orchctl attach web-0', 'orchctl attach -it shell'],
  completes: 'pods',
  options: streamOptions,
  async run(invocation) {
    const [target, more] = invocation.args;
    if (target === undefined) throw new UsageError('at least 1 argument is required for attach');
    if (more !== undefined)
      throw new UsageError(
        `expected POD, TYPE/NAME, or (TYPE NAME), (at most 2 arguments) saw ${invocation.args.length}`,
      );
    return open(invocation, target, 'attach', new URLSearchParams());
  },
};

async function open(invocation: Invocation, target: string, subresource: string, query: URLSearchParams) {
  const { api, values, stdin, out, err } = invocation;
  const pod = await podOf(invocation, target);
  const { name = '', namespace } = pod.metadata;
  if (pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed') {
    throw new CommandError(
      `cannot ${subresource} into a container in a completed pod; current phase is ${pod.status.phase}`,
    );
  }
  const wantsTty = values.bool('tty');
  const tty = wantsTty && stdin.isTTY === true && values.bool('stdin');
  if (wantsTty && !tty) err.write('Unable to use a TTY - input is not a terminal or the right kind of file\n');
  const container = containerOf(pod, invocation);
  query.set('container', container);
  query.set('stdout', 'true');
  if (values.bool('stdin')) query.set('stdin', 'true');
  if (tty) query.set('tty', 'true');
  else query.set('stderr', 'true');
  const path = objectPath((await api.catalog()).one('pods'), name, { namespace }, subresource);
  const streams: RemoteStreams = {
    stdin: values.bool('stdin') ? stdin : undefined,
    out,
    err,
    tty,
    onResize: invocation.onResize,
    signal: invocation.signal,
  };
  const { runRemote } = await import('#cmd/orchctl/streams/remote.js');
  return runRemote(await api.webSocket(`${path}?${query.toString()}`), streams);
}
