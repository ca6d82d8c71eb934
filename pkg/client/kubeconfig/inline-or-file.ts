/** Client config fields that hold either data or a path. */
import type { Cluster, User } from '#client/kubeconfig/file.js';

/** The field's inline data, else the path of its file; data takes precedence, as in other clients. */
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
