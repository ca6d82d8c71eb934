import { base64Bytes, maxDataBytes, validateDataKey, validateImmutableData } from '#api/core/v1/data/validation.js';
import { configmaps } from '#api/core/v1/resources.gen.js';
import type { ConfigMap } from '#api/core/v1/types.gen.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { addAll, invalidValue, tooLong } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

export const configMapStrategy: Strategy<ConfigMap> = kindStrategy<ConfigMap>(configmaps, {
  validate: (map) => validateConfigMap(map),
  validateUpdate: (map, old) => validateImmutableData(map, old, ['data', 'binaryData']),
  cells: (map, context) => [
    map.metadata.name ?? '',
    Object.keys(map.data ?? {}).length + Object.keys(map.binaryData ?? {}).length,
    age(map.metadata.creationTimestamp, context.now),
  ],
});

function validateConfigMap(map: ConfigMap): FieldFailure[] {
  const { data = {}, binaryData = {} } = map;
  const dataPath = FieldPath.of('data');
  const binaryPath = FieldPath.of('binaryData');
  // Iterates over each map once, because there may be very many keys.
  const failures: FieldFailure[] = [];
  let bytes = 0;
  for (const key in data) {
    addAll(failures, validateDataKey(key, dataPath));
    bytes += Buffer.byteLength(data[key] ?? '');
  }
  const ofBinaryKeys: FieldFailure[] = [];
  for (const key in binaryData) {
    if (Object.hasOwn(data, key)) {
      failures.push(invalidValue(dataPath.key(key), key, 'duplicate of key present in binaryData'));
    }
    addAll(ofBinaryKeys, validateDataKey(key, binaryPath));
    bytes += base64Bytes(binaryData[key] ?? '');
  }
  addAll(failures, ofBinaryKeys);
  if (bytes > maxDataBytes) failures.push(tooLong(FieldPath.ofNothing, maxDataBytes));
  return failures;
}
