/** Client configs of a machine whose way to the API servers may have another port than at its last start. */
import { readFileSync } from 'node:fs';
import { formatKubeconfig, parseKubeconfig } from '#client/kubeconfig/file.js';
import { replaceFile } from '#cmd/orch/process/replace-file.js';

/** Has all clusters of the file at this server. No error where there is no file; throws KubeconfigErrors. */
export function pointAt(file: string, server: string): void {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  const config = parseKubeconfig(text, file);
  for (const { cluster } of config.clusters) {
    cluster.server = server;
    // The address is this machine's, but what is behind it is not: large answers come compressed.
    cluster['disable-compression'] = false;
  }
  const changed = formatKubeconfig(config);
  if (changed !== text) replaceFile(file, changed);
}
