/** The files of a PKI in a Secret. */
import { secrets } from '#api/core/v1/resources.gen.js';
import type { Secret } from '#api/core/v1/types.gen.js';
import { isAlreadyExists, isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import type { Files } from '#cmd/orch/hosted/secrets.js';

export interface SecretPlace {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Undefined where there is no such Secret. */
export async function readSecret(client: Client, { name, namespace }: SecretPlace): Promise<Secret | undefined> {
  try {
    return await client.resource(secrets).get(name, { namespace });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

export function filesOf(secret: Secret | undefined): Files {
  const data = Object.entries(secret?.data ?? {});
  return Object.fromEntries(data.map(([name, encoded]) => [name, Buffer.from(encoded, 'base64').toString('utf8')]));
}

/** Somebody else has written the Secret meanwhile. */
export class SecretChangedError extends Error {
  override readonly name = 'SecretChangedError';
}

/**
 * Makes the Secret have exactly these files; nothing is written when it has. Returns whether it was written.
 * @param found As it was read. Throws SecretChangedError when it is no longer so.
 */
export async function saveSecret(
  client: Client,
  place: SecretPlace,
  { found, files }: { readonly found: Secret | undefined; readonly files: Files },
): Promise<boolean> {
  const had = filesOf(found);
  const names = new Set([...Object.keys(had), ...Object.keys(files)]);
  if (found !== undefined && [...names].every((name) => had[name] === files[name])) return false;
  const data = Object.fromEntries(
    Object.entries(files).map(([name, text]) => [name, Buffer.from(text).toString('base64')]),
  );
  const { name, namespace, labels } = place;
  try {
    if (found === undefined) await client.resource(secrets).create({ metadata: { name, namespace, labels }, data });
    else await client.resource(secrets).update({ ...found, data });
    return true;
  } catch (error) {
    if (!isConflict(error) && !isAlreadyExists(error)) throw error;
    throw new SecretChangedError(`Secret ${namespace}/${name} was changed meanwhile`, { cause: error });
  }
}
