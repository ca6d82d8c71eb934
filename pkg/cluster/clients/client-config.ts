/** Edits client config files in place. */
import { readFileSync } from 'node:fs';
import { formatKubeconfig, type Kubeconfig, parseKubeconfig } from '#client/kubeconfig/file.js';
import { replaceFile } from '#cluster/process/replace-file.js';

/**
 * Writes the file if `edit` changes it; does nothing without a file. Throws KubeconfigErrors and the file system's errors.
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
