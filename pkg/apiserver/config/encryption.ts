/** From the option to what encrypts values in the store. */
import { randomBytes } from 'node:crypto';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { readOptionalFile } from '#apiserver/config/files.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import { OptionsError } from '#daemon/options/option.js';
import { parseEncryptionConfig } from '#storage/encryption/encryption-config.js';
import { resourceEncryption } from '#storage/encryption/resource-encryption.js';
import type { ValueTransformer } from '#storage/encryption/transformer.js';
import type { StorageMetrics } from '#storage/metrics.js';

export interface EncryptionDependencies {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly metrics: StorageMetrics;
}

/** By the resource's name with its group; empty without the option. Throws OptionsError. */
export async function buildEncryption(
  values: ApiServerValues,
  { dialect, clock, metrics }: EncryptionDependencies,
): Promise<ReadonlyMap<string, ValueTransformer>> {
  const path = values['encryption-provider-config'];
  const text = await readOptionalFile('encryption-provider-config', path);
  if (text === undefined) return new Map();
  try {
    const rules = parseEncryptionConfig(text, dialect);
    return resourceEncryption(rules, { reserved: dialect.encryptedPrefix, random: randomBytes, clock, metrics });
  } catch (err) {
    if (!(err instanceof OptionsError)) throw err;
    throw new OptionsError(err.messages.map((message) => `--encryption-provider-config: ${path}: ${message}`));
  }
}
