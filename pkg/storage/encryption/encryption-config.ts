/**
 * The file that selects encrypted resources and their ciphers (`EncryptionConfiguration` of version v1).
 *
 * ```yaml
 * apiVersion: apiserver.config.orch.io/v1
 * kind: EncryptionConfiguration
 * resources:
 *   - resources: [secrets, configmaps]
 *     providers:
 *       - aesgcm: { keys: [{ name: new, secret: <base64 of 16, 24 or 32 bytes> }] }
 *       - aescbc: { keys: [{ name: old, secret: <base64> }] }
 *       - kms: { name: vault, endpoint: unix:///run/vault.sock, cachesize: 1000, timeout: 3s }
 *       - identity: {}
 * ```
 *
 * The first key of the first provider encrypts; all keys of all providers decrypt. Rules and texts are 1.24's, except
 * that messages repeat only names of fields, providers and keys: the rest may be secret.
 */
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { parseYAML } from '#apimachinery/codec/yaml.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { isPlain, type Plain } from '#daemon/options/config-decode.js';
import { OptionsError } from '#daemon/options/option.js';
import { list, object, redacted, required, unknownFields } from '#storage/encryption/config-fields.js';
import { type KmsProvider, kmsProvider } from '#storage/encryption/kms-config.js';
import { type CipherName, secretLengths } from '#storage/encryption/value-cipher.js';

export interface EncryptionKey {
  readonly name: string;
  readonly secret: Buffer;
}

export type EncryptionProvider =
  | { readonly type: 'identity' }
  | { readonly type: CipherName; readonly keys: readonly EncryptionKey[] }
  | KmsProvider;

export interface EncryptionRule {
  /** `secrets`, `deployments.apps`. */
  readonly resources: readonly string[];
  readonly providers: readonly EncryptionProvider[];
}

const providerNames = ['kms', 'aesgcm', 'aescbc', 'secretbox', 'identity'];

/** The rules in order. Throws an OptionsError with all problems. */
export function parseEncryptionConfig(text: string, dialect: Dialect): EncryptionRule[] {
  const file = parseFile(text);
  const errors: string[] = [];
  checkType(file, dialect, errors);
  unknownFields(file, ['apiVersion', 'kind', 'resources'], '', errors);
  const resources = list(file['resources'], 'resources', errors);
  if (resources?.length === 0) errors.push('resources: Required value: at least one resources is required');
  const rules = (resources ?? []).map((value, i) => rule(value, `resources[${i}]`, errors));
  if (errors.length > 0) throw new OptionsError(errors);
  return rules;
}

/** YAML errors contain only the line number: the text may be secret. */
function parseFile(text: string): Plain {
  let file: unknown;
  try {
    file = parseYAML(text);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const line = /\bline (\d+): /.exec(error.message)?.[1];
    throw new OptionsError([`${line === undefined ? '' : `line ${line}: `}cannot be read as YAML`]);
  }
  if (!isPlain(file)) throw new OptionsError(['must be an object']);
  return file;
}

function checkType(file: Plain, dialect: Dialect, errors: string[]): void {
  const { apiVersion, kind } = file;
  const current = apiVersion === dialect.apiServerConfigVersion && kind === 'EncryptionConfiguration';
  // 1.24 also accepts an older name.
  const old = apiVersion === 'v1' && kind === 'EncryptionConfig';
  if (!current && !old) {
    errors.push(
      `got unexpected config type: apiVersion must be "${dialect.apiServerConfigVersion}" and kind "EncryptionConfiguration"`,
    );
  }
}

function rule(value: unknown, path: string, errors: string[]): EncryptionRule {
  const fields = object(value, path, errors);
  unknownFields(fields, ['resources', 'providers'], `${path}.`, errors);
  const resourcesPath = `${path}.resources`;
  const providersPath = `${path}.providers`;
  const names = list(fields['resources'], resourcesPath, errors) ?? [];
  if (names.length === 0) errors.push(required(resourcesPath, `at least one ${resourcesPath} is required`));
  const providers = list(fields['providers'], providersPath, errors) ?? [];
  if (providers.length === 0) errors.push(required(providersPath, `at least one ${providersPath} is required`));
  return {
    resources: names.flatMap((name, i) => {
      if (typeof name === 'string') return [name];
      errors.push(`${resourcesPath}[${i}]: Invalid value: ${redacted}: must be a string`);
      return [];
    }),
    providers: providers.flatMap((each, i) => provider(each, `${providersPath}[${i}]`, errors)),
  };
}

function provider(value: unknown, path: string, errors: string[]): EncryptionProvider[] {
  const fields = object(value, path, errors);
  unknownFields(fields, providerNames, `${path}.`, errors);
  const providers = Object.keys(fields).filter((name) => providerNames.includes(name) && fields[name] !== null);
  const [name] = providers;
  if (name === undefined) {
    const reason = 'provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity';
    errors.push(`${path}: Invalid value: ${redacted}: ${reason}`);
    return [];
  }
  if (providers.length > 1) {
    const reason = 'more than one provider specified in a single element, should split into different list elements';
    errors.push(`${path}: Invalid value: ${redacted}: ${reason}`);
  }
  const settings = object(fields[name], `${path}.${name}`, errors);
  if (name === 'kms') return [kmsProvider(settings, `${path}.kms`, errors)];
  if (name === 'identity') {
    unknownFields(settings, [], `${path}.identity.`, errors);
    return [{ type: name }];
  }
  unknownFields(settings, ['keys'], `${path}.${name}.`, errors);
  const type = name as CipherName;
  return [{ type, keys: keys(settings['keys'], `${path}.${name}.keys`, secretLengths[type], errors) }];
}

function keys(value: unknown, path: string, lengths: readonly number[], errors: string[]): EncryptionKey[] {
  const values = list(value, path, errors) ?? [];
  if (values.length === 0) errors.push(required(path, 'at least one keys is required'));
  return values.flatMap((each, i) => key(each, `${path}[${i}]`, lengths, errors));
}

function key(value: unknown, path: string, lengths: readonly number[], errors: string[]): EncryptionKey[] {
  const fields = object(value, path, errors);
  unknownFields(fields, ['name', 'secret'], `${path}.`, errors);
  const { name, secret } = fields;
  if (typeof name !== 'string' || name === '')
    errors.push(required(`${path}.name`, 'name is a mandatory field for a key'));
  if (secret === undefined || secret === null || secret === '') {
    errors.push(required(`${path}.secret`, 'secret is a mandatory field for a key'));
    return [];
  }
  const bytes = typeof secret === 'string' ? decodeBase64(secret) : undefined;
  if (bytes === undefined) {
    errors.push(`${path}.secret: Invalid value: ${redacted}: secrets must be base64 encoded`);
    return [];
  }
  if (!lengths.includes(bytes.length)) {
    const reason = `secret is not of the expected length, got ${bytes.length}, expected one of [${lengths.join(' ')}]`;
    errors.push(`${path}.secret: Invalid value: ${redacted}: ${reason}`);
  }
  return typeof name === 'string' ? [{ name, secret: bytes }] : [];
}

/** Undefined for invalid base64 (standard alphabet with padding); line breaks are allowed. */
function decodeBase64(text: string): Buffer | undefined {
  const compact = text.replace(/[\r\n]/g, '');
  const valid = compact.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(compact);
  return valid ? Buffer.from(compact, 'base64') : undefined;
}
