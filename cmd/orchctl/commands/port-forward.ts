import type { Pod, Service } from '#api/core/v1/types.gen.js';
import { hostPort } from '#apimachinery/net/host-port.js';
import { objectPath } from '#cmd/orchctl/api/api.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { podOf } from '#cmd/orchctl/commands/pods.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';

export const portForward: Command = {
  name: 'port-forward',
  usage: '(POD | TYPE/NAME) [LOCAL:]REMOTE…',
  summary: 'Forward local ports to ports of a pod',
  examples: [
    'orchctl port-forward deployment/web 8080:8080',
    'orchctl port-forward service/web 8000:http',
    'orchctl port-forward web-0 :8080',
  ],
  completes: 'pods',
  options: {
    address: { type: 'strings', default: ['localhost'], section: 'Listening', meaning: 'Addresses to listen on.' },
  },
  async run(invocation) {
    const { args, api, values, out, err, signal } = invocation;
    const [target, ...specs] = args;
    if (target === undefined || specs.length === 0)
      throw new UsageError('TYPE/NAME and list of ports are required for port-forward');
    const pod = await podOf(invocation, target);
    if (pod.status?.phase !== 'Running') {
      throw new CommandError(`unable to forward port because pod is not running. Current status=${pod.status?.phase}`);
    }
    const service = await serviceOf(invocation, target);
    const { name = '', namespace } = pod.metadata;
    const path = objectPath((await api.catalog()).one('pods'), name, { namespace }, 'portforward');
    const { forwardPort } = await import('#cmd/orchctl/streams/port-forward.js');
    const forwards = specs.flatMap((spec) =>
      values.strings('address').map(async (address) => {
        const { local, remote } = parsePorts(spec, pod, service);
        return forwardPort({
          target: await api.webSocket(path),
          addresses: address === 'localhost' ? ['127.0.0.1', '::1'] : [address],
          local,
          remote,
          signal,
          listening: (at, port) => out.write(`Forwarding from ${hostPort(at, port)} -> ${remote}\n`),
          accepted: (port) => out.write(`Handling connection for ${port}\n`),
          failed: (message) => err.write(`error: ${message}\n`),
        });
      }),
    );
    await Promise.all(forwards);
    if (!signal.aborted) throw new CommandError('lost connection to pod');
    return 0;
  },
};

async function serviceOf({ api, namespace }: Invocation, target: string): Promise<Service | undefined> {
  const [type, name] = target.split('/');
  if (type === undefined || name === undefined) return undefined;
  const resource = (await api.catalog()).one(type);
  return resource.kind === 'Service' ? api.get<Service>(resource, name, { namespace }) : undefined;
}

/** `8080`, `8000:80`, `:80` (any free local port), `8000:http` (a named port). */
function parsePorts(spec: string, pod: Pod, service: Service | undefined): { local: number; remote: number } {
  const [first = '', second, more] = spec.split(':');
  if (more !== undefined) throw new UsageError(`"${spec}" is not [LOCAL:]REMOTE`);
  const remote = remotePort(second ?? first, pod, service);
  const local = second === undefined ? remoteOrNumber(first, remote) : first === '' ? 0 : portNumber(first);
  return { local, remote };
}

function remoteOrNumber(text: string, remote: number): number {
  return /^\d+$/.test(text) ? portNumber(text) : remote;
}

/** A port of the pod; a service port is translated to its target port. */
function remotePort(text: string, pod: Pod, service: Service | undefined): number {
  if (service !== undefined) {
    const port = service.spec.ports?.find((p) => p.name === text || String(p.port) === text);
    if (port === undefined)
      throw new CommandError(`Service ${service.metadata.name} does not have a service port ${text}`);
    const targetPort = port.targetPort ?? port.port;
    return typeof targetPort === 'number' ? targetPort : namedPort(targetPort, pod);
  }
  return /^\d+$/.test(text) ? portNumber(text) : namedPort(text, pod);
}

function namedPort(name: string, pod: Pod): number {
  for (const container of pod.spec.containers) {
    for (const port of container.ports ?? []) if (port.name === name) return port.containerPort;
  }
  throw new CommandError(`Pod '${pod.metadata.name}' does not have a named port '${name}'`);
}

function portNumber(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new UsageError(`"${text}" is not a port (1 to 65535)`);
  return port;
}
