/** What `orch etcd encryption` reads beside the store, and what it shows. */
import { readFileSync } from 'node:fs';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { formatColumns } from '#cluster/terminal/format.js';
import { OptionsError } from '#daemon/options/option.js';
import type { EncryptionUse } from '#etcd-admin/encryption-use.js';
import { type EncryptionRule, parseEncryptionConfig } from '#storage/encryption/encryption-config.js';

const option = '--encryption-provider-config';

/** Undefined without a file. Throws OptionsError. */
export function readRules(path: string | undefined): EncryptionRule[] | undefined {
  if (path === undefined || path === '') return undefined;
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new OptionsError([`${option}: ${messageOf(error)}`]);
  }
  try {
    // The file is for the servers of one dialect, which its version names.
    const dialect = text.includes(kubernetesDialect.apiServerConfigVersion) ? kubernetesDialect : orchDialect;
    return parseEncryptionConfig(text, dialect);
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error;
    throw new OptionsError(error.messages.map((message) => `${option}: ${path}: ${message}`));
  }
}

/** A line per resource and key, and what is left to do. */
export function formatEncryption({ objects, revision, uses }: EncryptionUse): string {
  const hasStates = uses.some(({ state }) => state !== undefined);
  const rows = uses.map(({ resource, key, objects: count, state = '', example }) => [
    ...[resource, key, String(count)],
    ...(hasStates ? [state] : []),
    example,
  ]);
  const head = ['RESOURCE', 'KEY', 'OBJECTS', ...(hasStates ? ['STATE'] : []), 'EXAMPLE'];
  const count = (which: string) =>
    uses.filter(({ state }) => state === which).reduce((sum, { objects: each }) => sum + each, 0);
  const [old, unreadable] = [count('old'), count('unreadable')];
  const todo = [
    ...(old > 0 ? [`${old} objects are stored under an old key: write them again before it is removed`] : []),
    ...(unreadable > 0 ? [`${unreadable} objects are stored under a key that the file does not have`] : []),
    ...(hasStates && old + unreadable === 0 ? ['All objects are stored as the file says'] : []),
  ];
  const lines = [`${objects} objects, at revision ${revision}`, ...todo, '', formatColumns([head, ...rows])];
  return lines.join('\n');
}
