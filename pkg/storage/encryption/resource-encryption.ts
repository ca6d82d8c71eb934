/** Builds each resource's transformer from the encryption rules. */
import type { Clock } from '#apimachinery/clock.js';
import type { EncryptionProvider, EncryptionRule } from '#storage/encryption/encryption-config.js';
import { EnvelopeTransformer } from '#storage/encryption/envelope.js';
import { KeyProbe } from '#storage/encryption/key-probe.js';
import type { KeyService } from '#storage/encryption/key-service.js';
import type { KmsProvider } from '#storage/encryption/kms-config.js';
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
  /** Opens a service without connecting yet. */
  readonly openService: (provider: KmsProvider) => KeyService;
}

export interface ResourceEncryption {
  /** By resource with group: `secrets`, `deployments.apps`. */
  readonly transformers: ReadonlyMap<string, ValueTransformer>;
  /** One per key management service, in the order of the configuration. */
  readonly probes: readonly KeyProbe[];
  /** Closes the services. */
  close(): void;
}

/** A resource in several rules gets the providers of all of them, in order. */
export function resourceEncryption(
  rules: readonly EncryptionRule[],
  options: ResourceEncryptionOptions,
): ResourceEncryption {
  const services: KeyService[] = [];
  const probes: KeyProbe[] = [];
  const envelope = (provider: KmsProvider): PrefixedTransformer => {
    const service = options.openService(provider);
    const probe = new KeyProbe({ name: provider.name, service, clock: options.clock });
    services.push(service);
    probes.push(probe);
    return enveloped(provider, { ...options, service, probe });
  };
  const providers = new Map<string, PrefixedTransformer[]>();
  for (const rule of rules) {
    const transformers = rule.providers.map((provider) =>
      provider.type === 'kms' ? envelope(provider) : prefixed(provider, options),
    );
    for (const resource of rule.resources) {
      providers.set(resource, [...(providers.get(resource) ?? []), ...transformers]);
    }
  }
  return {
    transformers: new Map(
      [...providers].map(([resource, transformers]) => [
        resource,
        oneOf(transformers, 'no matching prefix found', options),
      ]),
    ),
    probes,
    close() {
      for (const service of services) service.close();
    },
  };
}

interface EnvelopeParts extends ResourceEncryptionOptions {
  readonly service: KeyService;
  readonly probe: KeyProbe;
}

function enveloped(
  { name, cacheSize }: KmsProvider,
  { clock, metrics, probe, random, reserved, service }: EnvelopeParts,
): PrefixedTransformer {
  const seconds = () => clock.monotonic() / 1000;
  return {
    prefix: `${reserved}kms:v1:${name}:`,
    transformer: new EnvelopeTransformer({ service, probe, cacheSize, random, seconds, metrics }),
  };
}

function prefixed(
  provider: Exclude<EncryptionProvider, KmsProvider>,
  options: ResourceEncryptionOptions,
): PrefixedTransformer {
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
    record: ({ direction, prefix, status, seconds }) => {
      metrics.transformations.inc({ transformation_type: direction, transformer_prefix: prefix, status });
      if (status === 'OK') metrics.transformationDuration.observe({ transformation_type: direction }, seconds);
    },
  });
}
