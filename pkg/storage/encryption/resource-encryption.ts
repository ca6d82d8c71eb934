/** Builds each resource's transformer from the encryption rules. */
import type { Clock } from '#apimachinery/clock.js';
import type { EncryptionProvider, EncryptionRule } from '#storage/encryption/encryption-config.js';
import {
  CipherTransformer,
  IdentityTransformer,
  noMatchingKey,
  type PrefixedTransformer,
  PrefixTransformers,
  type ValueTransformer,
} from '#storage/encryption/transformer.js';
import { type RandomBytes, valueCipher } from '#storage/encryption/value-cipher.js';
import type { StorageMetrics } from '#storage/metrics.js';

export interface ResourceEncryptionOptions {
  /** Prefix of encrypted values: `k8s:enc:`. */
  readonly reserved: string;
  readonly random: RandomBytes;
  readonly clock: Clock;
  readonly metrics: StorageMetrics;
}

/**
 * The transformers by resource with group: `secrets`, `deployments.apps`. A resource in several rules gets the providers of
 * all of them, in order.
 */
export function resourceEncryption(
  rules: readonly EncryptionRule[],
  options: ResourceEncryptionOptions,
): Map<string, ValueTransformer> {
  const providers = new Map<string, PrefixedTransformer[]>();
  for (const rule of rules) {
    const transformers = rule.providers.map((provider) => prefixed(provider, options));
    for (const resource of rule.resources) {
      providers.set(resource, [...(providers.get(resource) ?? []), ...transformers]);
    }
  }
  return new Map(
    [...providers].map(([resource, transformers]) => [
      resource,
      oneOf(transformers, 'no matching prefix found', options),
    ]),
  );
}

function prefixed(provider: EncryptionProvider, options: ResourceEncryptionOptions): PrefixedTransformer {
  const { reserved, random } = options;
  if (provider.type === 'identity') return { prefix: '', transformer: new IdentityTransformer(reserved) };
  const { type } = provider;
  const keys = provider.keys.map(({ name, secret }) => ({
    prefix: `${name}:`,
    transformer: new CipherTransformer(valueCipher(type, secret, random)),
  }));
  return { prefix: `${reserved}${type}:v1:`, transformer: oneOf(keys, noMatchingKey[type], options) };
}

function oneOf(
  transformers: readonly PrefixedTransformer[],
  noMatch: string,
  { clock, metrics }: ResourceEncryptionOptions,
): PrefixTransformers {
  return new PrefixTransformers({
    transformers,
    noMatch,
    seconds: () => clock.monotonic() / 1000,
    record: ({ direction, prefix, ok, seconds }) => {
      const status = ok ? 'OK' : 'Unknown';
      metrics.transformations.inc({ transformation_type: direction, transformer_prefix: prefix, status });
      if (ok) metrics.transformationDuration.observe({ transformation_type: direction }, seconds);
    },
  });
}
