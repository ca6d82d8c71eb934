/** Rules of a node agent's configuration source. The feature was removed; stored nodes may still have one. */

import type { ConfigMapNodeConfigSource, Node, NodeConfigSource, NodeConfigStatus } from '#api/core/v1/types.gen.js';
import { coreValues } from '#api/core/v1/values/go-values.js';
import type { Draft } from '#apimachinery/draft.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkDNSLabel, checkDNSSubdomain } from '#apimachinery/validation/checks.js';
import { addAll, forbiddenField, invalidEach, invalidValue, required } from '#apimachinery/validation/failure.js';
import { configKeyErrors } from '#apimachinery/validation/names.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

/** New nodes get no source. In place. */
export function dropConfigSource(node: Draft<Node>, old: Node | undefined): void {
  if (old === undefined) {
    delete node.spec.configSource;
    if (node.status !== undefined) delete node.status.config;
  } else if (old.spec.configSource === undefined) delete node.spec.configSource;
}

/** A requested source names a config map; a source in use also names its version. */
export function validateConfigSource(
  source: NodeConfigSource | undefined,
  part: 'spec' | 'status',
  path: FieldPath,
): FieldFailure[] {
  if (source === undefined) return [];
  if (source.configMap === undefined) {
    return [
      invalidValue(path, coreValues.of('NodeConfigSource', source), 'exactly one reference subfield must be non-nil'),
    ];
  }
  return validateConfigMap(source.configMap, part, path.child('configMap'));
}

export function validateConfigStatus(status: NodeConfigStatus | undefined, path: FieldPath): FieldFailure[] {
  return (['assigned', 'active', 'lastKnownGood'] as const).flatMap((field) =>
    validateConfigSource(status?.[field], 'status', path.child(field)),
  );
}

function validateConfigMap(
  source: ConfigMapNodeConfigSource,
  part: 'spec' | 'status',
  path: FieldPath,
): FieldFailure[] {
  const failures: FieldFailure[] = [];
  for (const field of ['uid', 'resourceVersion'] as const) {
    const set = (source[field] ?? '') !== '';
    const at = path.child(field);
    if (part === 'spec' && set) failures.push(forbiddenField(at, `${field} must not be set in spec`));
    if (part === 'status' && !set) failures.push(required(at, `${field} must be set in status`));
  }
  const { namespace = '', name = '', kubeletConfigKey: key = '' } = source;
  const [namespacePath, namePath, keyPath] = [
    path.child('namespace'),
    path.child('name'),
    path.child('kubeletConfigKey'),
  ];
  if (namespace === '') failures.push(required(namespacePath, 'namespace must be set'));
  else addAll(failures, checkDNSLabel(namespacePath, namespace));
  if (name === '') failures.push(required(namePath, 'name must be set'));
  else addAll(failures, checkDNSSubdomain(namePath, name));
  if (key === '') failures.push(required(keyPath, 'kubeletConfigKey must be set'));
  else addAll(failures, invalidEach(keyPath, key, configKeyErrors(key)));
  return failures;
}
