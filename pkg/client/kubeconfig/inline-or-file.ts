/** Fields of client config files that come in two forms. */
import type { Cluster, User } from '#client/kubeconfig/file.js';

/** The data of a field, else the path of the file that holds it: data wins, as in every other client. */
export function inlineOrFile<E extends Cluster | User>(
  entry: E,
  field: 'certificate-authority' | 'client-certificate' | 'client-key',
): { readonly inline: Buffer | undefined; readonly file: string | undefined } {
  const fields = entry as Readonly<Record<string, unknown>>;
  const data = fields[`${field}-data`];
  const path = fields[field];
  if (typeof data === 'string' && data !== '') return { inline: Buffer.from(data, 'base64'), file: undefined };
  return { inline: undefined, file: typeof path === 'string' && path !== '' ? path : undefined };
}
