/** Prometheus and promtool, from the PATH or hack/install-clients.sh. */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { env } from 'node:process';
import { fileURLToPath } from 'node:url';

const brought = fileURLToPath(new URL('../../.tools/bin', import.meta.url));

/** Path of the program; undefined if missing. */
export function prometheusProgram(name: 'prometheus' | 'promtool'): string | undefined {
  const folders = [...(env['PATH'] ?? '').split(delimiter), brought];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}
