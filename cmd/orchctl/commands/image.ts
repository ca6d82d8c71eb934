import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from '#cmd/orchctl/commands/command.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';

const defaultDataDir = '/var/lib/orch';

export const image: Command = {
  name: 'image',
  usage: 'load FILE',
  summary: "Give an image archive to this machine's nodes",
  examples: [
    'orchctl image load web.tar',
    'orchctl image load web.tar --runtime-socket /run/containerd/containerd.sock',
  ],
  offline: true,
  options: {
    'data-dir': {
      type: 'string',
      default: defaultDataDir,
      section: 'Selection',
      meaning: 'Data directory of the cluster, as passed to `orch up`.',
    },
    'runtime-socket': { type: 'string', section: 'Selection', meaning: 'Socket of one containerd instead.' },
  },
  async run({ args, values, out }) {
    const [action, file, more] = args;
    if (action !== 'load' || file === undefined || more !== undefined) throw new UsageError('use: image load FILE');
    if (!existsSync(file)) throw new CommandError(`${file} does not exist`);
    const socket = values.string('runtime-socket');
    const sockets =
      socket === undefined ? await nodeSockets(values.string('data-dir') ?? defaultDataDir) : [['', socket] as const];
    // Imported on demand: only this command uses container runtimes.
    const { loadImageArchive } = await import('#nodeagent/images/load.js');
    for (const [node, path] of sockets) {
      await loadImageArchive(file, path);
      out.write(`${file} loaded${node === '' ? '' : ` on ${node}`}\n`);
    }
    return 0;
  },
};

/** Names and sockets of the cluster's nodes that run containers. */
async function nodeSockets(dataDir: string): Promise<(readonly [string, string])[]> {
  const { containerdPaths } = await import('#containerd/containerd.js');
  const folder = join(dataDir, 'runtime');
  const nodes = existsSync(folder) ? readdirSync(folder) : [];
  const sockets = nodes
    .map((node) => [node, containerdPaths(join(folder, node)).socket] as const)
    .filter(([, path]) => existsSync(path));
  if (sockets.length === 0) {
    throw new CommandError(
      `no running container runtime in ${dataDir}: start the cluster (orch up), or set --data-dir or --runtime-socket; simulated nodes need no images`,
    );
  }
  return sockets;
}
