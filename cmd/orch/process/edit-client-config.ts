/** Client configs of a machine's own, of which something has changed. */
import { readFileSync } from 'node:fs';
import { formatKubeconfig, type Kubeconfig, parseKubeconfig } from '#client/kubeconfig/file.js';
import { replaceFile } from '#cmd/orch/process/replace-file.js';

/**
 * Replaces the file where `edit` has changed what it says. No error where there is no file; throws KubeconfigErrors, and
 * the file system's errors.
 */
export function editClientConfig(file: string, edit: (config: Kubeconfig) => void): void {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  const config = parseKubeconfig(text, file);
  const before = formatKubeconfig(config);
  edit(config);
  const changed = formatKubeconfig(config);
  if (changed !== before) replaceFile(file, changed);
}
