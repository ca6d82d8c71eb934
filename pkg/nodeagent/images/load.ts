/** Loads an image archive into containerd. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { findProgram } from '#nodeagent/node/prerequisites.js';

const run = promisify(execFile);

/** containerd's namespace of CRI objects. */
const criNamespace = 'k8s.io';

/** Imports all images of an OCI archive. Rejects with ctr's message. `socket`: path of containerd's socket. */
export async function loadImageArchive(file: string, socket: string): Promise<void> {
  const ctr = await findProgram('ctr');
  if (ctr === undefined) throw new Error('ctr is not installed; it comes with containerd');
  await run(ctr, ['--address', socket, '--namespace', criNamespace, 'images', 'import', '--no-unpack', file]);
}
