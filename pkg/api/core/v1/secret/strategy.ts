import { base64Bytes, maxDataBytes, validateDataKeys, validateImmutableData } from '#api/core/v1/data/validation.js';
import { secrets } from '#api/core/v1/resources.gen.js';
import type { Secret } from '#api/core/v1/types.gen.js';
import { validateImmutable } from '#api/meta/v1/objectmeta/validation.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { invalidValue, required, tooLong } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const dataPath = FieldPath.of('data');

export const secretStrategy: Strategy<Secret> = kindStrategy<Secret>(secrets, {
  defaults(secret, context) {
    mergeStringData(secret);
    secret.type ||= context.dialect.secretTypes.opaque;
  },
  validate: (secret, context) => validateSecret(secret, context.dialect),
  validateUpdate: (secret, old) => [
    ...validateImmutable(secret.type, old.type, FieldPath.of('type')),
    ...validateImmutableData(secret, old, ['data']),
  ],
  selectableFields: (secret) => ({ type: secret.type ?? '' }),
  cells: (secret, context) => [
    secret.metadata.name ?? '',
    secret.type ?? '',
    Object.keys(secret.data ?? {}).length,
    age(secret.metadata.creationTimestamp, context.now),
  ],
});

/** Plain texts are write-only; they are stored as data. */
function mergeStringData(secret: Draft<Secret>): void {
  if (secret.stringData === undefined) return;
  const data = { ...secret.data };
  for (const [key, value] of Object.entries(secret.stringData)) data[key] = Buffer.from(value).toString('base64');
  if (Object.keys(data).length > 0) secret.data = data;
  delete secret.stringData;
}

function validateSecret(secret: Secret, dialect: Dialect): FieldFailure[] {
  const failures = validateDataKeys(secret.data, dataPath);
  const bytes = Object.values(secret.data ?? {}).reduce((sum, value) => sum + base64Bytes(value), 0);
  if (bytes > maxDataBytes) failures.push(tooLong(dataPath, maxDataBytes));
  return [...failures, ...validateType(secret, dialect)];
}

function validateType(secret: Secret, dialect: Dialect): FieldFailure[] {
  const types = dialect.secretTypes;
  switch (secret.type) {
    case types.serviceAccountToken: {
      const annotation = dialect.annotations.serviceAccountName;
      if ((secret.metadata.annotations?.[annotation] ?? '') !== '') return [];
      return [required(FieldPath.of('metadata', 'annotations').key(annotation))];
    }
    case types.dockercfg:
      return jsonKey(secret, '.dockercfg');
    case types.dockerConfigJson:
      return jsonKey(secret, '.dockerconfigjson');
    case types.basicAuth:
      if (has(secret, 'username') || has(secret, 'password')) return [];
      return [required(dataPath.key('username')), required(dataPath.key('password'))];
    case types.sshAuth:
      return (secret.data?.['ssh-privatekey'] ?? '') === '' ? [required(dataPath.key('ssh-privatekey'))] : [];
    case types.tls:
      return ['tls.crt', 'tls.key'].filter((key) => !has(secret, key)).map((key) => required(dataPath.key(key)));
    default:
      return [];
  }
}

function has(secret: Secret, key: string): boolean {
  return Object.hasOwn(secret.data ?? {}, key);
}

/** The value must be a JSON object. The message must not reveal the secret. */
function jsonKey(secret: Secret, key: string): FieldFailure[] {
  if (!has(secret, key)) return [required(dataPath.key(key))];
  const refuse = (why: string) => [invalidValue(dataPath.key(key), '<secret contents redacted>', why)];
  let content: unknown;
  try {
    content = JSON.parse(Buffer.from(secret.data?.[key] ?? '', 'base64').toString());
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return refuse('must be valid JSON');
  }
  return typeof content === 'object' && !Array.isArray(content) ? [] : refuse('must be an object in JSON');
}
